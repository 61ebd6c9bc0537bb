#pragma once
// The part of a web address after "#" that leads to a screen: the words of its command, said as name=value.
#include <string>
#include <vector>

namespace locus {

/// "page=attention&text=a+new+%5BMASK%5D&cell=3,5" of {"locus", "view", "--page", "attention", ...}, as command_words()
/// makes them.  A model is `model`, what --set says has the name of its field, with "set." before a name that is an
/// option too; the size of the window is left out.
std::string link_of(const std::vector<std::string>& command);

/// The words after "locus view" that a link stands for.  What is no name=value is left out: a link that was cut short
/// still opens.  Values are not checked; the options do that.
std::vector<std::string> words_of_link(const std::string& link);

}  // namespace locus
