#pragma once
// What XLNet does to a text before SentencePiece, and to its pieces afterwards.
// Source: transformers tokenization_xlnet.py, preprocess_text and _tokenize; zihangdai/xlnet prepro_utils.py.
#include <functional>
#include <string>
#include <vector>

namespace locus {

struct XlnetText {
    bool lower_case = false, keep_accents = false, remove_space = true;
};

/// One blank for every run of white space, none at the ends; " for `` and ''; no accents (after NFKD); lower case.
std::string prepare_xlnet_text(const std::string& text, const XlnetText& options);

/// A piece that ends in a digit and a comma is cut again by `encode` without its comma, which becomes a piece.
std::vector<std::string> cut_digit_commas(const std::vector<std::string>& pieces,
                                          const std::function<std::vector<std::string>(const std::string&)>& encode);

}  // namespace locus
