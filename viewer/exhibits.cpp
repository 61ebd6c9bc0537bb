#include "viewer/exhibits.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "core/attention/rotary.h"

namespace locus {

namespace {

/// Tokens of the examples, as each model's own tokenizer gives them.
const std::vector<std::int64_t> kCapitalTokens = {9, 120, 26, 445, 23, 559, 10, 4, 3};
const std::vector<std::string> kCapitalWords = {"the", "capital", "of", "france", "is", "paris", ".", "<sep>", "<cls>"};
constexpr const char* kStory =
    "<eos> tom went to the bakery with a letter . lucy was at the museum . at the bakery , tom bought some cheese "
    ". the cheese was for lucy . then tom left the bakery and carried the cheese home . lucy asked tom about the "
    "letter .";
constexpr Index kSegment = 24;

IndexTensor one_text(const std::vector<std::int64_t>& ids) { return {{1, static_cast<Index>(ids.size())}, ids}; }

std::vector<std::string> split(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

std::vector<std::string> read_vocabulary(const std::filesystem::path& file) {
    std::ifstream lines(file);
    if (!lines) throw Error(Fault::unreadable, file.string() + " cannot be read, expected one word per line");
    std::vector<std::string> words;
    for (std::string line; std::getline(lines, line);) words.push_back(line);
    return words;
}

std::vector<double> probabilities(const Tensor<float>& logits, Index row) {
    const auto rows = logits.rows();
    const double largest = rows.row(row).maxCoeff();
    std::vector<double> values;
    for (Index v = 0; v < rows.cols(); ++v) values.push_back(std::exp(static_cast<double>(rows(row, v)) - largest));
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    for (double& value : values) value /= sum;
    return values;
}

std::unique_ptr<Model<float>> model_of(const Checkpoint& checkpoint) {
    return open_model<float>(checkpoint.config_json, checkpoint.config_file.string(), checkpoint.weights);
}

}  // namespace

RotaryExhibit::RotaryExhibit(std::shared_ptr<const ExhibitModel> opened, const ExhibitChoice& choice)
    : opened_(std::move(opened)) {
    const ModelInput input = opened_->input_of(choice);
    words_ = opened_->words_of(input);
    trace_ = opened_->model().forward({input}, Dialect::official,
                                      StageFilter("rotary.sin,rotary.cos,layer.*.q,layer.*.k,layer.*.v"));
    angles_ = {trace_.at("rotary.sin").as<float>().rows(), trace_.at("rotary.cos").as<float>().rows()};
    if (input.mask.empty()) return;
    visible_.resize(length(), length());
    for (Index i = 0; i < length(); ++i)
        for (Index j = 0; j < length(); ++j)
            visible_(i, j) = input.mask[input.mask.rank() == 3 ? i * length() + j : j] != 0;
}

Matrix<float> RotaryExhibit::rows(const char* stem, Index layer, Index head) const {
    return trace_.at("layer." + std::to_string(layer) + "." + stem).as<float>().matrix(head);
}

RowVector<double> RotaryExhibit::row(const char* stem, Index layer, Index head, Index token) const {
    return rows(stem, layer, head).row(token).cast<double>();
}

Matrix<float> RotaryExhibit::scores(Index layer, Index head) const {
    return rotary_scores<float>(rows("q", layer, head), rows("k", layer, head), angles_, angles_,
                                RotaryLayout::interleaved);
}

Matrix<float> RotaryExhibit::attention(Index layer, Index head) const {
    return masked_softmax<float>(scores(layer, head), visible_);
}

MemoryExhibit::MemoryExhibit() : opened_("tiny-txl") {
    const Checkpoint& files = opened_.checkpoint;
    model_ = std::make_unique<TransformerXl<float>>(
        parse_transformer_xl_config(files.config_json, files.config_file.string()), files.weights);
    vocabulary_ = read_vocabulary(files.folder / "vocab.txt");
    const std::vector<std::string> story = split(kStory);
    first_.assign(story.begin(), story.begin() + kSegment);
    second_.assign(story.begin() + kSegment, story.begin() + 2 * kSegment);
    next_.assign(story.begin() + kSegment + 1, story.end());
    Trace nothing(StageFilter::none());
    memory_ = model_->run_segment(input_of(first_), {}, Dialect::official, sizes().layers, "", nothing);
}

ModelInput MemoryExhibit::input_of(const std::vector<std::string>& words) const {
    std::vector<std::int64_t> ids;
    for (const std::string& word : words) {
        const auto found = std::find(vocabulary_.begin(), vocabulary_.end(), word);
        if (found == vocabulary_.end())
            throw Error(Fault::unreadable, (opened_.checkpoint.folder / "vocab.txt").string() + " has no line \"" +
                                               word + "\", which the story needs");
        ids.push_back(found - vocabulary_.begin());
    }
    ModelInput input;
    input.tokens = one_text(ids);
    return input;
}

MemoryAnswer MemoryExhibit::answer(Index memory) const {
    MemoryAnswer answer{
        memory,
        Trace(StageFilter("layer.*.q,layer.*.k,layer.*.r_k,layer.*.bd_raw,layer.*.scores,layer.*.probs,lm.logits")), 0};
    SegmentMemory<float> kept;
    for (const Tensor<float>& rows : memory_) {
        const Matrix<float> newest = rows.rows().bottomRows(memory);
        kept.emplace_back(Shape{1, memory, newest.cols()},
                          std::vector<float>(newest.data(), newest.data() + newest.size()));
    }
    if (memory == 0) kept.clear();
    model_->run_segment(input_of(second_), kept, Dialect::official, sizes().layers, "", answer.trace);
    for (Index i = 0; i < static_cast<Index>(next_.size()); ++i)
        answer.loss -= std::log(probability_of_next(answer, i)) / static_cast<double>(next_.size());
    return answer;
}

RowVector<float> MemoryExhibit::bias(const char* name, Index head) const {
    return read_rows<float>(*opened_.checkpoint.weights, name, head, 1);
}

std::vector<WordGuess> MemoryExhibit::guesses(const MemoryAnswer& answer, Index i, std::size_t count) const {
    const std::vector<double> all = probabilities(answer.trace.at("lm.logits").as<float>(), i);
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return all[a] > all[b]; });
    std::vector<WordGuess> best;
    for (std::size_t n = 0; n < std::min(count, order.size()); ++n)
        best.push_back({vocabulary_.at(order[n]), all[order[n]]});
    return best;
}

double MemoryExhibit::probability_of_next(const MemoryAnswer& answer, Index i) const {
    const auto id = std::find(vocabulary_.begin(), vocabulary_.end(), next_.at(static_cast<std::size_t>(i)));
    const auto at = static_cast<std::size_t>(id - vocabulary_.begin());
    return probabilities(answer.trace.at("lm.logits").as<float>(), i).at(at);
}

PermutationExhibit::PermutationExhibit()
    : opened_("tiny-xlnet"), model_(model_of(opened_.checkpoint)), words_(kCapitalWords) {}

PermutationAnswer PermutationExhibit::answer(const std::vector<Index>& targets, const Visibility& query_sees) const {
    const auto length = static_cast<Index>(words_.size()), count = static_cast<Index>(targets.size());
    ModelInput input;
    input.tokens = one_text(kCapitalTokens);
    input.perm_mask = IndexTensor({1, length, length});
    for (Index n = 0; n < length * length; ++n) input.perm_mask[n] = query_sees.data()[n] ? 0 : 1;
    std::string stages = "layer.*.probs";  // of both streams
    if (count > 0) {
        input.target_mapping = IndexTensor({1, count, length});
        for (Index p = 0; p < count; ++p) input.target_mapping[p * length + targets[static_cast<std::size_t>(p)]] = 1;
        stages += ",lm.logits";
    }
    PermutationAnswer answer{targets, {}, model_->forward({input}, Dialect::official, StageFilter(stages))};
    for (Index p = 0; p < count; ++p) {
        const auto id = kCapitalTokens[static_cast<std::size_t>(targets[static_cast<std::size_t>(p)])];
        answer.probabilities.push_back(
            probabilities(answer.trace.at("lm.logits").as<float>(), p).at(static_cast<std::size_t>(id)));
    }
    return answer;
}

}  // namespace locus
