// locus trace --gradients, as a user runs it.
#include <catch2/catch.hpp>

#include "core/io/safetensors.h"
#include "core/trace.h"
#include "tests/run_program.h"

namespace locus::test::test_cli_gradients {

using Catch::Matchers::Contains;

namespace {

Outcome gradients(const std::vector<std::string>& more, const std::string& model = "tiny-v3") {
    std::vector<std::string> arguments = {"--model", model, "--text", "the capital of france is [MASK]."};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run("locus-trace", arguments);
}

}  // namespace

TEST_CASE("cli gradients: the answer for [MASK] decides them, and a file holds them whole", "[cli][training]") {
    const TemporaryFolder folder;
    std::vector<Trace> traces;
    for (const std::string answer : {"paris", "rome"}) {
        const fs::path file = folder / (answer + ".safetensors");
        const Outcome outcome =
            gradients({"--gradients", "--answer", answer, "--precision", "f64", "--out", file.string()});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        traces.push_back(read_trace(file));
    }
    CHECK(traces[0].names() == traces[1].names());
    CHECK(traces[0].find("grad.layer.0.c2p"));
    // The output bias gets softmax minus 1 at the answer: below 0 there, above 0 at every other word.
    std::vector<Index> answers;
    for (const Trace& trace : traces) {
        const auto& bias = trace.at("grad.lm_predictions.lm_head.bias").as<double>();
        Index lowest = 0;
        const auto rows = bias.rows();
        CHECK((rows.array() < 0).count() == 1);
        rows.row(0).minCoeff(&lowest);
        CHECK(std::abs(rows.sum()) <= 1e-12);
        answers.push_back(lowest);
    }
    CHECK(answers[0] != answers[1]);
}

TEST_CASE("cli gradients: what does not fit together is refused by one sentence", "[cli][training]") {
    const auto refused = [](const std::vector<std::string>& more, int status, const std::string& sentence,
                            const std::string& model = "tiny-v3") {
        const Outcome outcome = gradients(more, model);
        INFO(sentence << " | " << outcome.err);
        CHECK(outcome.status == status);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, Contains(sentence));
    };
    refused({"--answer", "paris"}, 2, "--answer goes with --gradients");
    refused({"--gradients"}, 2, "--answer is given 0 times for 1 places of [MASK]");
    refused({"--gradients", "--answer", "paris", "--answer", "rome"}, 2, "--answer is given 2 times for 1 places");
    refused({"--gradients", "--answer", "unbelievableness"}, 2, "6 pieces of the vocabulary, expected one");
    refused({"--gradients", "--answer", "paris", "--device", "cuda"}, 2, "expected --device cpu");
    refused({"--gradients", "--answer", "paris", "--dialect", "paper"}, 2, "expected another --dialect than paper");
    refused({"--gradients", "--answer", "paris", "--stages", "layer.0.q"}, 2, "layer.0.q");
    // The options after the text of gradients() are not for tokens: these begin anew.
    const auto of_tokens = [](std::vector<std::string> more) {
        more.insert(more.begin(), {"--model", "tiny-v3", "--tokens", "1,6,56,2", "--gradients"});
        return run("locus-trace", more);
    };
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--labels", "0,0,0,0"}}) {
        const Outcome nothing = of_tokens(more);
        CHECK(nothing.status == 2);
        CHECK(nothing.err ==
              "locus trace: --gradients need a word to be predicted: a [MASK] with its --answer, or --labels other "
              "than 0\n");
    }
    CHECK_THAT(of_tokens({"--answer", "paris"}).err,
               Contains("--answer is the word for a [MASK], found none in --text and no id 6000 in --tokens"));
    CHECK_THAT(of_tokens({"--answer", "paris", "--labels", "0,6,0,0"}).err, Contains("expected one of them"));
    CHECK(of_tokens({"--labels", "0,6,0,0", "--stages", "grad.layer.0.q"}).status == 0);
    refused({"--gradients"}, 4, "--gradients are those of a deberta, found xlnet", "tiny-xlnet");
}

}  // namespace locus::test::test_cli_gradients
