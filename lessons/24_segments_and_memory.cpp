// Lesson 24: Segments and memory
//
// Question: A network reads a long text in pieces. How far back does the last output still feel a word?
// Before: 22. Minutes: 15. Page: transformer-xl.
// Show: memory.segment=1&memory.strip=reach
#include <algorithm>

#include "core/io/checkpoint.h"
#include "core/models/transformer_xl.h"
#include "core/text/statistics/factorisation.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

constexpr Index kSegment = 3;  // words that are read at once

/// tiny-txl cut down to its first layers, with another memory.
TransformerXl<float> network(Index layers, Index memory) {
    const Checkpoint files = open_checkpoint(resolve_model("tiny-txl"));
    TransformerXlConfig config = parse_transformer_xl_config(files.config_json, files.config_file.string());
    config.n_layer = layers, config.mem_len = memory;
    return {config, files.weights};
}

/// The segment that begins with word `first`; word n is the n-th of the vocabulary, the one at `changed` another.
ModelInput segment(Index first, Index changed = -1) {
    ModelInput input;
    input.tokens = IndexTensor({1, kSegment});
    for (Index t = 0; t < kSegment; ++t) input.tokens[t] = first + t == changed ? 60 : 2 + first + t;
    return input;
}

/// The last output of a story of 18 words.
RowVector<float> last_output(const TransformerXl<float>& model, Index changed) {
    std::vector<ModelInput> segments;
    for (Index first = 0; first < 18; first += kSegment) segments.push_back(segment(first, changed));
    const std::string stage = "segment.5.layer." + std::to_string(model.config().n_layer - 1) + ".output";
    return model.forward(segments, Dialect::reference, StageFilter(stage)).at(stage).as<float>().rows().bottomRows(1);
}

/// One sign per word: x if exchanging it moves the last output, else a point.  A blank between segments.
std::string reach_of(Index layers, Index memory) {
    const TransformerXl<float> model = network(layers, memory);
    const RowVector<float> unchanged = last_output(model, -1);
    std::string marks;
    for (Index t = 0; t < 18; ++t)
        marks += std::string(t > 0 && t % kSegment == 0 ? " " : "") + (last_output(model, t) != unchanged ? "x" : ".");
    return marks;
}

/// Words before the last segment that move its last output.
Index words_before(const std::string& marks) { return std::count(marks.begin(), marks.end() - kSegment, 'x'); }

std::string joined(const std::vector<std::string>& words, Index begin, Index end) {
    std::string text;
    for (Index n = std::max<Index>(0, begin); n < end; ++n) text += words[static_cast<std::size_t>(n)] + " ";
    return text;
}

/// Code 1 of NLP 기초: tf.concat([prev_mem, curr_out], 0)[-mem_len:]
Matrix<float> cached(const Matrix<float>& prev_mem, const Matrix<float>& curr_out, Index mem_len) {
    Matrix<float> both(prev_mem.rows() + curr_out.rows(), curr_out.cols());
    both << prev_mem, curr_out;
    return both.bottomRows(std::min(mem_len, both.rows()));
}

/// The probability that the first word of a text gives to the rows before it, in the dialect hf; mean over heads.
double given_to_zeros(const TransformerXl<float>& model) {
    const Trace trace = model.forward({segment(0)}, Dialect::hf, StageFilter("layer.0.probs"));
    const Tensor<float>& probs = trace.at("layer.0.probs").as<float>();
    double given = 0;
    for (Index h = 0; h < probs.extent(1); ++h)
        given += probs.matrix(h).row(0).head(model.config().mem_len).sum() / static_cast<double>(probs.extent(1));
    return given;
}

/// What transfo-xl-wt103 says of its words.
TransformerXlConfig wikitext_103() {
    TransformerXlConfig config;
    config.vocab_size = 267735;
    config.d_model = config.d_embed = 1024;
    config.cutoffs = {20000, 40000, 200000};
    config.div_val = 4;
    return config;
}

/// Multiplications that the words of one cluster cost: D -> E_n, then E_n for each word.
double cost_of_cluster(const TransformerXlConfig& config, Index n) {
    return static_cast<double>(config.cluster_width(n) * (config.d_model + config.cluster_size(n)));
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "24", "Segments and memory",
        "A network reads a long text in pieces. How far back does the last output still feel a word?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "A text longer than the network is cut into segments, and a word at the cut loses everything before it. "
            "Transformer-XL keeps the rows that entered each layer of the segment before: the memory. Keys and values "
            "are made of memory and segment, queries of the segment only. Positions are distances: with M rows in the "
            "memory, query i of the segment is M + i \u2212 j away from key j. The proverb of lesson 22: 발 foot, 없는 "
            "without, 말 word, 이 (subject), 천리 thousand li, 간다 goes.");
        const std::vector<std::string> words = {"발", "없는", "말", "이", "천리", "간다"};
        std::vector<std::vector<std::string>> rows = {{"query", "발", "없는", "말", "이", "천리", "간다"}};
        const auto distances = distances_with_memory(3, kSegment);
        for (std::size_t i = 0; i < distances.size(); ++i) {
            rows.push_back({words[3 + i], "", "", "", "", "", ""});
            for (std::size_t j = 0; j < distances[i].size(); ++j) rows[i + 1][j + 1] = std::to_string(distances[i][j]);
        }
        lesson.table("memory 발 없는 말, segment 이 천리 간다: the distance of every visible pair", rows);
        lesson.prove_equal("words from 천리 back to 발, by NLP 기초", static_cast<double>(distances[1][0]), 4);

        lesson.say(
            "What is handed on: new_mem = concat(prev_mem, curr)[\u2212mem_len:], as plain numbers, where curr are the "
            "rows that entered the layer (NLP 기초 writes curr_out). Training sends no gradient into them "
            "(stop-gradient), so it never has to keep the work of older segments; the price is that no word is taught "
            "to be useful to a later segment. tiny-txl, mem_len = 4:");
        const TransformerXl<float> four = network(4, 4);
        const Trace trace = four.forward({segment(0), segment(3)}, Dialect::reference);
        std::vector<std::vector<std::string>> cache = {{"after segment", "concat(prev_mem, curr)", "new_mem"}};
        for (Index s = 0, end = kSegment; s < 2; ++s, end += kSegment)
            cache.push_back({std::to_string(s + 1), joined(words, s * kSegment - 4, end), joined(words, end - 4, end)});
        lesson.table("whose rows they are", cache);
        double difference = 0;
        SegmentMemory<double> saved;
        for (Index l = 0; l <= 4; ++l) {
            const std::string entered = l == 0 ? "embeddings.output" : "layer." + std::to_string(l - 1) + ".output";
            const std::string memory = ".memory." + std::to_string(l);
            Matrix<float> replay(0, 128);
            for (const std::string s : {"segment.0", "segment.1"}) {
                replay = cached(replay, trace.at(s + "." + entered).as<float>().rows(), 4);
                difference = std::max<double>(difference,
                                              (replay - trace.at(s + memory).as<float>().rows()).cwiseAbs().maxCoeff());
            }
            const Tensor<float>& first = trace.at("segment.0" + memory).as<float>();
            saved.push_back({first.shape(), {first.values().begin(), first.values().end()}});
        }
        lesson.prove("the formula replayed for all layers, both segments: difference to the model's memory", difference,
                     0);
        ModelInput second = segment(3);
        second.memories = saved;
        const Matrix<float> there = trace.at("segment.1.lm.logits").as<float>().rows(),
                            alone = four.forward({second}, Dialect::reference).at("lm.logits").as<float>().rows();
        lesson.prove("segment 2 with its memory read back from saved numbers: difference of its outputs",
                     (alone - there).cwiseAbs().maxCoeff(), 0);

        lesson.say(
            "A row of the memory has itself looked into the memory before it, so every layer reaches one memory "
            "farther. Exchange one of 18 words, segments of 3: x, the last output changes; point, it stays the same, "
            "bit for bit. locus view also counts the 2 other words of the last segment: 14 back for the 12 here.");
        std::vector<std::vector<std::string>> picture = {
            {"layers", "memory", "words 1 \u2026 18", "before its segment"}};
        double wrong = 0, deepest = 0, without = 0;
        for (const auto& [layers, memory] :
             std::vector<std::pair<Index, Index>>{{4, 0}, {1, 3}, {2, 3}, {3, 3}, {4, 3}, {2, 6}}) {
            const std::string marks = reach_of(layers, memory);
            const Index before = words_before(marks);
            picture.push_back({std::to_string(layers), std::to_string(memory), marks, std::to_string(before)});
            wrong += before != layers * memory;
            if (layers == 4) (memory == 0 ? without : deepest) = static_cast<double>(before);
        }
        lesson.table("which words move the last output", picture);
        lesson.prove_equal("4 layers, no memory: words before the segment that move its last output", without, 0);
        lesson.prove_equal("4 layers, memory 3: the same count", deepest, 4 * 3);
        lesson.prove_equal("rows of the picture in which that is not layers \u00d7 memory", wrong, 0);

        lesson.say(
            "Two habits of the released checkpoint, transfo-xl-wt103. Its TensorFlow program and transformers begin a "
            "text with mem_len rows of zeros, the PyTorch program with none. A row of zeros is not nothing: its key is "
            "0, but (q + v)\u00b7r of its distance is not, and the softmax counts it. tiny-txl, mem_len = 4:");
        lesson.prove_at_least("probability that the first word gives to four rows of zeros, layer 0",
                              given_to_zeros(four), 0.9);
        lesson.say(
            "And its 267735 words stand in clusters, the most frequent first. One softmax holds the words of "
            "cluster 0 and an entry for each other cluster; a rarer word has p(w) = p(cluster) p(w | cluster). "
            "Vectors of rare words are narrow:");
        const TransformerXlConfig words_of = wikitext_103();
        const double frequent = cost_of_cluster(words_of, 0) + 3 * 1024;
        lesson.prove_at_least("multiplications with one table of all words, over those of a word of cluster 0",
                              267735.0 * 1024 / frequent, 12);
        // Six words in clusters of two: logits of the words of cluster 0 and of clusters 1 and 2, then of their words.
        const Matrix<double> first = log_softmax<double>(Matrix<double>{{1.0, 0.5, 0.25, -1.0}}, {});
        Matrix<double> tails(2, 2);
        tails << 2.0, 0.0, -1.0, 1.0;
        const RowVector<double> in_order = first.rightCols(2), from_the_end = in_order.reverse();
        const auto sum_of = [&](const RowVector<double>& given) {
            return first.leftCols(2).array().exp().sum() + log_softmax<double>(tails, given).array().exp().sum();
        };
        lesson.prove("six words in three clusters: the sum of their probabilities, minus 1", sum_of(in_order) - 1,
                     1e-12);
        lesson.say(
            "The order of the clusters is a trap: cluster n is column \u2212n, counted from the end, in the PyTorch "
            "program, and column n, counted from the first cluster, in the TensorFlow program and in transformers. The "
            "sum is 1 either way, so nothing looks wrong.");
        lesson.prove("clusters from the end: the sum, minus 1", sum_of(from_the_end) - 1, 1e-12);
        lesson.prove_at_least("and the last word is likelier, times", std::exp(from_the_end[1] - in_order[1]), 3);

        lesson.ask("1 layer, memory 12, segments of 3: how many words before the segment move its last output?",
                   static_cast<double>(words_before(reach_of(1, 12))), 0, "Layers times memory.");
        lesson.ask("tiny-txl, mem_len = 4, rows of 128: how many numbers is a segment given for its 4 layers?",
                   static_cast<double>(4 * trace.at("segment.1.memory.0").size()), 0, "4 rows of 128 for each layer.");
        lesson.exercise("Memory 2, segments of 3, 3 layers: why is the reach not 3 \u00d7 2?", [&] {
            const std::string marks = reach_of(3, 2);
            lesson.say("  " + marks);
            lesson.say(
                "The oldest row stands inside its segment and feels its first word, too: each further layer goes "
                "back a whole segment.");
            lesson.prove_equal("words before the segment: (layers \u2212 1) \u00b7 segment + memory",
                               static_cast<double>(words_before(marks)), 2 * 3 + 2);
        });
        lesson.end({{"core/models/transformer_xl.h", "rows_to_keep"},
                    {"core/models/relative_heads.h", "memory_and_segment"},
                    {"core/models/transformer_xl_words.h", "log_probabilities"}},
                   "Dai et al. 2019, section 3.2; Grave et al. 2017; NLP 기초, code 1 and figures 15 to 17.", "25");
    });
}
