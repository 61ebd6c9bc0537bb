#pragma once
// Operations that compute nothing: every value they return is a tag of its own, and every value they are given must be
// a tag, a parameter of the model or 0.  So whatever a pass works out by itself is found: its result is no tag.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/models/operations.h"

namespace locus::test {

class TaggedOperations final : public Operations<double> {
public:
    /// What a pass may hand in besides tags: parameters, angles, sinusoids.
    void know(const double* values, Index count) const { known_.insert(values, values + count); }
    bool knows(double value) const { return value == 0 || known_.contains(value); }
    /// The operation that made a value; nullptr if none did.
    const char* maker(double value) const {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        const std::uint64_t payload = (bits >> kCheckBits) & ((1ULL << kPayloadBits) - 1);
        const std::size_t name = payload % kMostNames;
        return name < names_.size() && value == tag(payload) ? names_[name] : nullptr;
    }
    std::set<std::string> called() const { return {names_.begin(), names_.end()}; }
    /// Operations that were given a value from elsewhere.
    const std::set<std::string>& strangers() const { return strangers_; }

    Result dense(In x, const Dense<double>& layer) const override {
        take("dense", x, layer.weight);
        return tags("dense", x.rows(), layer.weight.rows());
    }
    Result layer_norm(In x, const Norm<double>& norm, double) const override {
        take("layer_norm", x, norm.weight, norm.bias);
        return tags("layer_norm", x.rows(), x.cols());
    }
    Result activate(In x, Activation) const override {
        take("activate", x);
        return tags("activate", x.rows(), x.cols());
    }
    Result convolve(In x, const Convolution<double>& layer) const override {
        take("convolve", x, layer.weight, layer.bias);
        return tags("convolve", x.rows(), layer.weight.rows());
    }
    void add(In x, InOut sum) const override {
        take("add", x, sum);
        sum = tags("add", sum.rows(), sum.cols());
    }
    void add_rows(In table, const std::vector<std::int64_t>&, InOut sum) const override {
        take("add_rows", table, sum);
        sum = tags("add_rows", sum.rows(), sum.cols());
    }
    void multiply(double, InOut x) const override {
        take("multiply", x);
        x = tags("multiply", x.rows(), x.cols());
    }
    void divide(double, InOut x) const override {
        take("divide", x);
        x = tags("divide", x.rows(), x.cols());
    }
    void multiply_rows(const Row&, InOut x) const override {
        take("multiply_rows", x);
        x = tags("multiply_rows", x.rows(), x.cols());
    }
    Tensor<double> mix_heads(const Tensor<double>& scores, const Matrix<double>& weight) const override {
        take("mix_heads", Result(scores.rows()), weight);
        Tensor<double> mixed(scores.shape());
        mixed.rows() = tags("mix_heads", scores.rows().rows(), scores.rows().cols());
        return mixed;
    }
    Result context(In probs, In v) const override {
        take("context", probs, v);
        return tags("context", probs.rows(), v.cols());
    }
    void context(In probs, In v, InOut result) const override { result = context(probs, v); }
    Result content_to_content(In q, In k) const override {
        take("content_to_content", q, k);
        return tags("content_to_content", q.rows(), k.rows());
    }
    Result content_to_position(In q, In k_r, const RelativeBuckets& buckets) const override {
        take("content_to_position", q, k_r);
        return tags("content_to_position", q.rows(), buckets.keys());
    }
    Result position_to_content(In k, In q_r, const RelativeBuckets& buckets, P2cIndex) const override {
        take("position_to_content", k, q_r);
        return tags("position_to_content", buckets.queries(), k.rows());
    }
    Result masked_softmax(In scores, const Mask&, MaskedRow) const override {
        take("masked_softmax", scores);
        return tags("masked_softmax", scores.rows(), scores.cols());
    }
    Result rotate(In x, const RotaryTable<double>& table, RotaryLayout) const override {
        take("rotate", x, table.sin, table.cos);
        return tags("rotate", x.rows(), x.cols());
    }
    Result content_term(In q, const Row& u, In k) const override {
        take("content_term", q, u, k);
        return tags("content_term", q.rows(), k.rows());
    }
    Result position_term(In q, const Row& v, In r_k) const override {
        take("position_term", q, v, r_k);
        return tags("position_term", q.rows(), r_k.rows());
    }
    Result shift_by_index(In bd_raw, Index keys, Index, Index, const std::vector<Index>&) const override {
        take("shift_by_index", bd_raw);
        return tags("shift_by_index", bd_raw.rows(), keys);
    }
    Result segment_term(In q, const Row& s, In segments, const std::vector<std::int64_t>&,
                        const std::vector<std::int64_t>& key_ids) const override {
        take("segment_term", q, s, segments);
        return tags("segment_term", q.rows(), static_cast<Index>(key_ids.size()));
    }
    Result word_logits(In x, const WordBlock<double>&, Index words, const Row& bias) const override {
        take("word_logits", x, bias);
        return tags("word_logits", x.rows(), words);
    }
    double cross_entropy(const Row& logits, std::int64_t) const override {
        take("cross_entropy", logits);
        return tags("cross_entropy", 1, 1)(0, 0);
    }
    Result log_softmax(In logits, const Row& given) const override {
        take("log_softmax", logits, given);
        return tags("log_softmax", logits.rows(), logits.cols());
    }

private:
    static constexpr int kCheckBits = 19, kPayloadBits = 33;
    static constexpr std::uint64_t kMostNames = 32;

    /// A number in [1, 2) whose low bits are a check of the high ones, so that it is told from any other number: what
    /// arithmetic makes of tags passes for one in one case of 2^19, and then only in that cell.
    static double tag(std::uint64_t payload) {
        std::uint64_t check = (payload + 1) * 0x9E3779B97F4A7C15ULL;
        check = (check ^ (check >> 29)) * 0xBF58476D1CE4E5B9ULL;
        const std::uint64_t bits = 0x3FF0000000000000ULL | (payload << kCheckBits) | (check >> (64 - kCheckBits));
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    /// A tag of its own for every value.
    Result tags(const char* name, Index rows, Index cols) const {
        const auto number = static_cast<std::uint64_t>(
            std::find_if(names_.begin(), names_.end(), [&](const char* one) { return !std::strcmp(one, name); }) -
            names_.begin());
        if (number == names_.size()) names_.push_back(name);
        Result values(rows, cols);
        for (Index n = 0; n < values.size(); ++n) values.data()[n] = tag(kMostNames * count_++ + number);
        return values;
    }
    template <class... Given>
    void take(const char* name, const Given&... given) const {
        (check(name, given), ...);
    }
    template <class Values>
    void check(const char* name, const Values& values) const {
        for (Index i = 0; i < values.rows(); ++i)
            for (Index j = 0; j < values.cols(); ++j)
                if (!maker(values(i, j)) && !knows(values(i, j))) {
                    strangers_.insert(name);
                    return;
                }
    }

    mutable std::uint64_t count_ = 0;
    mutable std::vector<const char*> names_;
    mutable std::unordered_set<double> known_;
    mutable std::set<std::string> strangers_;
};

}  // namespace locus::test
