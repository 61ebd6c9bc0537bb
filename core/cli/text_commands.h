#pragma once
// The commands of locus text, one function each: it adds the command's options and says what to do with them.
#include <functional>

namespace CLI {
class App;
}

namespace locus::cli {

/// What a command does once its options are parsed; returns the exit status.
using TextCommand = std::function<int()>;

/// `app` is locus text itself: warnings carry its name.
TextCommand add_bag_of_words(const CLI::App& app, CLI::App& command);
TextCommand add_tf_idf(const CLI::App& app, CLI::App& command);
TextCommand add_ngrams(const CLI::App& app, CLI::App& command);
TextCommand add_next_word(const CLI::App& app, CLI::App& command);
TextCommand add_suggestions(const CLI::App& app, CLI::App& command);
TextCommand add_similarity(const CLI::App& app, CLI::App& command);
TextCommand add_latent_semantics(const CLI::App& app, CLI::App& command);
TextCommand add_word_movers(const CLI::App& app, CLI::App& command);
TextCommand add_skip_gram(const CLI::App& app, CLI::App& command);
TextCommand add_prediction_order(const CLI::App& app, CLI::App& command);

}  // namespace locus::cli
