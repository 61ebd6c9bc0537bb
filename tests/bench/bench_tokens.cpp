#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <fstream>
#include <iterator>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/check.h"
#include "core/text/tokenizers/sentencepiece_encoder.h"
#include "core/text/tokenizers/sentencepiece_model.h"
#include "tests/bench/rounds.h"

namespace locus::bench::tokens {

namespace {

namespace fs = std::filesystem;

const fs::path kRepository = LOCUS_SOURCE_DIR;

std::string bytes_of_file(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw Error(Fault::unreadable, file.string() + ": cannot be read, expected a file");
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> corpus_lines() {
    std::ifstream stream(kRepository / "assets/corpus/positions.txt");
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

class BenchLines : public sentencepiece::SentenceIterator {
public:
    explicit BenchLines(const std::vector<std::string>& lines) : lines_(lines) {}
    bool done() const override { return at_ >= lines_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override { return lines_[at_]; }
    sentencepiece::util::Status status() const override { return {}; }

private:
    const std::vector<std::string>& lines_;
    std::size_t at_ = 0;
};

std::string learnt_bpe(const std::vector<std::string>& lines) {
    const std::unordered_map<std::string, std::string> options = {
        {"model_type", "bpe"}, {"vocab_size", "1000"}, {"num_threads", "1"}, {"minloglevel", "3"}};
    BenchLines iterator(lines);
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(options, &iterator, &model);
    LOCUS_CHECK(status.ok(), "bench tokens: no BPE vocabulary can be learnt: " + status.ToString());
    return model;
}

/// Both on the same lines in turn; ids must be equal.
void measure_model(const std::string& name, const std::string& bytes, const std::vector<std::string>& lines,
                   Measures& measures) {
    sentencepiece::SentencePieceProcessor library;
    LOCUS_CHECK(library.LoadFromSerializedProto(bytes).ok(), "bench tokens: the library does not open " + name);
    const SentencePieceEncoder encoder(parse_sentencepiece_model(bytes, name), name);
    double megabytes = 0;
    std::vector<int> ids;
    for (const std::string& line : lines) {
        megabytes += static_cast<double>(line.size()) / 1e6;
        LOCUS_CHECK(library.Encode(line, &ids).ok(), "bench tokens: the library does not cut a line");
        const std::vector<Piece> pieces = encoder.encode(line);
        bool same = pieces.size() == ids.size();
        for (std::size_t n = 0; same && n < ids.size(); ++n) same = pieces[n].id == ids[n];
        LOCUS_CHECK(same, "bench tokens: the ids of ours and of the library differ for \"" + line + "\"");
    }
    const std::vector<Way> ways = {our_way("ours",
                                           [&] {
                                               for (const std::string& line : lines) encoder.encode(line);
                                           }),
                                   our_way("libsentencepiece", [&] {
                                       for (const std::string& line : lines) library.Encode(line, &ids).IgnoreError();
                                   })};
    const Rounds rounds = time_in_turn(ways, 7, 5);
    for (std::size_t n = 0; n < ways.size(); ++n) {
        const Spent spent = rounds.median(n);  // in ms
        measures.push_back({name + ", " + ways[n].name, megabytes / spent.wall * 1e3, "MB/s", 0, true, -1,
                            megabytes / spent.processor * 1e3});
    }
    const Spent ratio = rounds.ratio(1, 0);
    measures.push_back({name + ", ours / libsentencepiece", ratio.wall, "x", 1, true, -1, ratio.processor});
}

}  // namespace

void measure(Measures& measures) {
    const std::vector<std::string> lines = corpus_lines();
    measure_model("unigram, 6000 pieces", bytes_of_file(kRepository / "assets/models/tiny-v3/spm.model"), lines,
                  measures);
    measure_model("BPE, 1000 pieces", learnt_bpe(lines), lines, measures);
}

}  // namespace locus::bench::tokens
