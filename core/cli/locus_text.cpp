// locus text: models that count words, on files of the user.
#include <tuple>
#include <utility>
#include <vector>

#include "core/cli/program.h"
#include "core/cli/text_commands.h"

int main(int argc, char** argv) {
    using namespace locus;
    cli::Command program(
        "Counts words: models of text before neural networks.\n"
        "  locus text tfidf a.txt b.txt           what each document is about\n"
        "  locus text similar corpus.txt          which lines are alike\n"
        "  locus text next \"how are\" corpus.txt   the word that follows most often\n"
        "A single file holds one document per line, several files one each; --lines and --whole change that.\n"
        "locus text COMMAND --help lists the options of a command.",
        "locus text");
    program.takes_commands(0, 1);  // none is refused below: with 1 here, a misspelt one would not be named
    using Add = cli::TextCommand (*)(const cli::Command&, cli::Command&);
    const std::vector<std::tuple<const char*, const char*, Add>> all = {
        {"bow", "Counts every word of every document.", cli::add_bag_of_words},
        {"tfidf", "Words that a document has and others have not.", cli::add_tf_idf},
        {"ngrams", "Counts n words, or n characters, in a row.", cli::add_ngrams},
        {"next", "The words that followed some words, with their probability.", cli::add_next_word},
        {"suggest", "Known words that are spelt like a misspelt one.", cli::add_suggestions},
        {"similar", "The most similar documents.", cli::add_similarity},
        {"lsa", "Documents and words in a space of topics (singular values).", cli::add_latent_semantics},
        {"wmd", "Word mover's distance, exact, with its bounds and its plan.", cli::add_word_movers},
        {"vectors", "Trains word vectors on the neighbours of words (skip-gram).", cli::add_skip_gram},
        {"order", "Who sees whom when words are predicted in some order (XLNet).", cli::add_prediction_order},
    };
    std::vector<std::pair<cli::Command, cli::TextCommand>> commands;
    for (const auto& [name, what, add] : all) {
        cli::Command command = program.command(name, what);
        commands.emplace_back(command, add(program, command));
    }
    return cli::run_program(program, argc, argv, [&] {
        for (const auto& [command, run] : commands)
            if (command.chosen()) return run();
        throw Error(Fault::usage, "no command was given, expected bow, tfidf or another; locus text --help lists them");
    });
}
