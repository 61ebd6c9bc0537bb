// Attention handed out of a training step: whatever engine computes it, the gradients are those of the processor.
#include <catch2/catch.hpp>
#include <random>

#include "core/attention/disentangled.h"
#include "core/products.h"
#include "core/training/masked_words.h"
#include "core/training/parameters.h"
#include "cuda/library.h"
#include "tests/max_abs.h"
#include "tests/random_model.h"

namespace locus::test::test_attention_engine {

namespace {

/// The readable functions behind the interface, sentence by sentence.
class ReadableEngine : public AttentionEngine {
public:
    int calls = 0;

    PackedContext forward(const PackedHeads& heads, const RelativeBuckets& buckets) override {
        ++calls;
        PackedContext output{Tensor<float>(heads.q.shape()), Tensor<float>({1, heads.q.extent(1), heads.q.extent(2)})};
        each(heads, buckets, [&](Index h, Index first, const DisentangledHead<float>& head, const RelativeBuckets&) {
            output.context.matrix(h).middleRows(first, head.q.rows()) =
                times<float>(head.probs.cwiseProduct(head.keep), head.v);
        });
        return output;
    }
    PackedGradients backward(const PackedHeads& heads, const PackedContext&, const Tensor<float>& d_context,
                             const RelativeBuckets& buckets) override {
        PackedGradients sum;
        for (const auto& [grad, of] : {std::pair(&sum.q, &heads.q),
                                       {&sum.k, &heads.k},
                                       {&sum.v, &heads.v},
                                       {&sum.k_r, &heads.k_r},
                                       {&sum.q_r, &heads.q_r}})
            if (!of->empty()) *grad = Tensor<float>(of->shape());
        each(heads, buckets,
             [&](Index h, Index first, const DisentangledHead<float>& head, const RelativeBuckets& own) {
                 const Index rows = head.q.rows();
                 const auto grad = disentangled_backward<float>(head, own, d_context.matrix(h).middleRows(first, rows));
                 sum.q.matrix(h).middleRows(first, rows) = grad.q;
                 sum.k.matrix(h).middleRows(first, rows) = grad.k;
                 sum.v.matrix(h).middleRows(first, rows) = grad.v;
                 if (!sum.k_r.empty()) sum.k_r.matrix(h) += grad.k_r;
                 if (!sum.q_r.empty()) sum.q_r.matrix(h) += grad.q_r;
             });
        return sum;
    }

private:
    template <class Work>
    static void each(const PackedHeads& heads, const RelativeBuckets& longest, Work work) {
        Index first = 0;
        for (std::size_t b = 0; b < heads.lengths.size(); ++b) {
            const Index length = heads.lengths[b];
            REQUIRE(length <= longest.queries());
            const RelativeBuckets buckets = RelativeBuckets::logarithmic(length, length, 4, 16, OffsetClamp::official);
            for (Index h = 0; h < heads.q.extent(1); ++h) {
                DisentangledHead<float> head;
                head.q = heads.q.matrix(h).middleRows(first, length);
                head.k = heads.k.matrix(h).middleRows(first, length);
                head.v = heads.v.matrix(h).middleRows(first, length);
                Matrix<float> scores = times_transposed<float>(head.q, head.k);
                if (!heads.k_r.empty()) {
                    head.k_r = heads.k_r.matrix(h);
                    scores += content_to_position<float>(head.q, head.k_r, buckets);
                }
                if (!heads.q_r.empty()) {
                    head.q_r = heads.q_r.matrix(h);
                    scores += position_to_content<float>(head.k, head.q_r, buckets);
                }
                head.probs = masked_softmax<float>(scores * heads.scale, Mask(), MaskedRow::zero);
                head.divisor = 1 / heads.scale;
                head.keep.setOnes(length, length);
                drop<float>(heads.seed, static_cast<Index>(b) * heads.q.extent(1) + h, heads.dropout, head.keep);
                work(h, first, head, buckets);
            }
            first += length;
        }
    }
};

struct Step {
    Step(const Terms& terms, AttentionEngine* engine, bool checkpointing, Index head_width = 4) {
        DebertaConfig config = small_config();
        config.hidden_size = config.embedding_size = 3 * head_width;
        config.attention_head_size = head_width;
        config.position_buckets = 4;
        config.max_relative_positions = 16;
        config.share_att_key = true;
        config.terms = terms;
        Parameters<float> values(masked_language_tensors(config, true));
        std::mt19937 generator(3);
        std::normal_distribution<float> normal(0, 0.4f);
        for (float& value : values.numbers()) value = normal(generator);
        PackedBatch batch;
        batch.tokens = {1, 5, 36, 7, 2, 1, 9, 2, 1, 30, 11, 12, 36, 14, 2};
        batch.labels = {0, 0, 6, 7, 0, 0, 9, 0, 0, 0, 11, 0, 13, 0, 0};
        batch.starts = {0, 5, 8, 15};
        ThreadPool pool(1);
        DebertaTraining<float> model(config, {true, checkpointing, engine}, pool);
        gradients = values.zeros();
        loss = mean_loss(masked_language_step<float>(model, values, batch, {7, 0.1, 0.15}, gradients).losses);
    }
    double loss = 0;
    Parameters<float> gradients;
};

void check_same(const Step& here, const Step& there) {
    CHECK(std::abs(here.loss - there.loss) <= 1e-5);
    const double largest = max_abs(here.gradients.numbers());
    CHECK(largest > 0.01);
    // Sums of up to 37 float32 products in another order, through a layer there and back and the decoder's two passes.
    const double roundings = 4 * 37 * std::numeric_limits<float>::epsilon();
    CHECK(max_abs(here.gradients.numbers() - there.gradients.numbers()) <= roundings * largest);
}

}  // namespace

TEST_CASE("attention engine: the gradients of a step are those of the processor", "[training]") {
    for (const Terms terms : {Terms{true, true}, Terms{true, false}, Terms{false, true}, Terms{false, false}})
        for (const bool checkpointing : {false, true}) {
            INFO(terms.c2p << terms.p2c << checkpointing);
            ReadableEngine engine;
            check_same(Step(terms, nullptr, checkpointing), Step(terms, &engine, checkpointing));
            CHECK(engine.calls == (checkpointing ? 6 : 3));  // one encoder layer, two passes of the decoder
        }
}

TEST_CASE("attention engine: the fused kernels give the processor's gradients", "[training][cuda]") {
    if (!cuda::library_error().empty()) {
        WARN("skipped: " << cuda::library_error());
        return;
    }
    for (const Index width : {8, 32}) {
        const auto engine = cuda::library().training_attention();
        check_same(Step(Terms{}, nullptr, false, width), Step(Terms{}, engine.get(), false, width));
    }
}

}  // namespace locus::test::test_attention_engine
