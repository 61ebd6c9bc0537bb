#include "tests/conformance/toy/toy_deberta_gradients.h"

#include <cmath>
#include <map>
#include <set>

#include "tests/conformance/toy/toy_deberta.h"

namespace locus::conformance::toy {

namespace {

template <class Scalar>
class Backward {
public:
    using A = Array<Scalar>;

    Backward(const DebertaConfig& config, const WeightSource& weights, const ModelInput& input, const Trace& forward,
             const Injection& injected)
        : config_(config),
          input_(input),
          forward_(forward),
          tools_(weights, options_, config.layer_norm_eps),
          injected_(injected) {
        rows_ = relative_rows(config, input.length(), options_);
    }

    Trace run() {
        const Index layers = config_.num_hidden_layers;
        A d_h, d_query = head();
        const A h = of("layer." + std::to_string(layers - 2) + ".output");
        d_h = A(h.shape);
        for (Index t = 1; t >= 0; --t) {
            const std::string at = "emd." + std::to_string(t) + ".";
            keep(at + "output", d_query);
            const A x_q = t == 0 ? of("emd.query.0") : of("emd." + std::to_string(t - 1) + ".output");
            A d_keys(h.shape);
            d_query = layer(at, layers - 1, h, x_q, d_query, d_keys);
            if (!injected_.is(140, 10)) d_h = plus(d_h, d_keys);
        }
        keep("emd.query.0", d_query);
        positions(d_query);
        d_h = plus(d_h, d_query);
        A d_embeddings(h.shape);
        for (Index l = layers - 2; l >= 0; --l) {
            const std::string at = "layer." + std::to_string(l) + ".";
            keep(at + "output", d_h);
            const A x = l == 0 ? of("embeddings.output") : of("layer." + std::to_string(l - 1) + ".output");
            if (l == 0 && config_.conv_kernel_size > 0) d_h = convolution(x, d_h, d_embeddings);
            A d_keys(x.shape);
            d_query = layer(at, l, x, x, d_h, d_keys);
            d_h = plus(d_query, d_keys);
        }
        embeddings(injected_.is(140, 11) ? d_h : plus(d_h, d_embeddings));
        tables();
        parameters();
        return std::move(trace_);
    }

private:
    /// What a dense layer read, and the gradient of what it gave.
    struct Use {
        A x, d_y;
        Index samples;
        bool of_positions;
    };

    A of(const std::string& stage) const {
        const Stage& from = forward_.at(stage);
        A values(from.shape());
        for (Index n = 0; n < from.size(); ++n)
            values.values[static_cast<std::size_t>(n)] = static_cast<Scalar>(from.at(n));
        return values;
    }
    void keep(const std::string& stage, const A& gradient) { trace_.add("grad." + stage, as_stage(gradient)); }

    // The loss, the logits, the head.

    /// 136: what the gradient of a target in sample b is divided by.
    Scalar divisor(Index b) const {
        Index targets = 0, own = 0, visible = 0, samples = 0;
        const Index length = input_.length(), batch = input_.batch();
        for (Index s = 0; s < batch; ++s) {
            Index in_sample = 0;
            for (Index t = 0; t < length; ++t) {
                in_sample += input_.labels[s * length + t] > 0;
                visible += input_.mask.empty() || input_.mask[s * length + t] != 0;
            }
            targets += in_sample;
            samples += in_sample > 0;
            if (s == b) own = in_sample;
        }
        const Index counted = injected_.is(136, 0)   ? 1
                              : injected_.is(136, 1) ? batch * length
                              : injected_.is(136, 2) ? visible
                              : injected_.is(136, 3) ? batch
                              : injected_.is(136, 4) ? own * samples
                              : injected_.is(136, 5) ? targets * targets
                              : injected_.is(137, 4) ? batch * length
                                                     : targets;
        return static_cast<Scalar>(counted);
    }

    A logits() const {
        A d = of("mlm.logits");
        const Index words = d.width();
        for (Index n = 0; n < d.runs(); ++n) {
            Scalar* row = d.run(n);
            const std::int64_t label = input_.labels[n];
            const bool counts = label > 0 || injected_.is(137, 3) || injected_.is(137, 4);
            Scalar top = row[0], sum = 0;
            for (Index w = 0; w < words; ++w) top = std::max(top, row[w]);
            for (Index w = 0; w < words; ++w) sum += std::exp(row[w] - top);
            for (Index w = 0; w < words; ++w) {
                Scalar softmax = std::exp(row[w] - top) / sum, target = w == label ? 1 : 0;
                if (injected_.is(137, 0)) target = 0;
                if (injected_.is(137, 1)) softmax = 0;
                if (injected_.is(137, 2)) std::swap(softmax, target);
                if (injected_.is(137, 5))
                    target = static_cast<Scalar>(0.9) * target + static_cast<Scalar>(0.1) / static_cast<Scalar>(words);
                row[w] = counts ? (softmax - target) / divisor(n / input_.length()) : Scalar(0);
            }
        }
        return d;
    }

    /// Gradient of what the decoder's last pass gives.
    A head() {
        const A d_logits = logits(), x = of("emd.1.output"), transform = of("mlm.transform");
        keep("mlm.logits", d_logits);
        const A table = tools_.weight("embeddings.word_embeddings.weight");
        word_table_ = A(table.shape);
        A bias({table.extent(0)}), d_transform({d_logits.extent(0), d_logits.extent(1), table.width()});
        for (Index n = 0; n < d_logits.runs(); ++n)
            for (Index w = 0; w < table.extent(0); ++w) {
                const Scalar d = d_logits.run(n)[w];
                bias(w) += d;
                for (Index c = 0; c < table.width(); ++c) {
                    d_transform.run(n)[c] += d * table(w, c);
                    if (!injected_.is(53, 0)) word_table_(w, c) += d * transform.run(n)[c];
                }
            }
        keep("mlm.transform", d_transform);
        gradients_["lm_predictions.lm_head.bias"] = bias;
        const std::string name = "lm_predictions.lm_head.";
        const A inner = tools_.dense(x, name + "dense");
        const A act = tools_.activated(inner, config_.hidden_act);
        const A d_act = norm(act, d_transform, name + "LayerNorm");
        return dense(x, activation(inner, d_act, config_.hidden_act), name + "dense");
    }

    // The small parts.

    /// 138: what a norm hands back; its weight and bias collect on the way.
    A norm(const A& x, const A& d_y, const std::string& name) {
        const A weight = tools_.weight(name + ".weight"), shift = tools_.weight(name + ".bias");
        const Index width = x.width();
        const auto channels = static_cast<Scalar>(width);
        A d_x(x.shape), d_weight(weight.shape), d_bias(weight.shape);
        std::vector<Scalar> xhat(static_cast<std::size_t>(width)), g(xhat.size());
        for (Index n = 0; n < x.runs(); ++n) {
            Scalar mean = 0, variance = 0, mean_g = 0, along = 0, mean_d = 0, along_d = 0;
            for (Index c = 0; c < width; ++c) mean += x.run(n)[c] / channels;
            for (Index c = 0; c < width; ++c) variance += (x.run(n)[c] - mean) * (x.run(n)[c] - mean) / channels;
            const Scalar root = std::sqrt(variance + static_cast<Scalar>(config_.layer_norm_eps));
            for (Index c = 0; c < width; ++c) {
                const auto at = static_cast<std::size_t>(c);
                const Scalar d = d_y.run(n)[c];
                xhat[at] = (x.run(n)[c] - mean) / root;
                g[at] = injected_.is(138, 4) ? d : d * weight(c);
                mean_g += g[at] / channels;
                along += g[at] * xhat[at] / channels;
                mean_d += d / channels;
                along_d += d * xhat[at] / channels;
                const Scalar y = xhat[at] * weight(c) + shift(c);
                d_bias(c) += d;
                d_weight(c) += d * (injected_.is(138, 8)    ? x.run(n)[c]
                                    : injected_.is(138, 9)  ? y
                                    : injected_.is(138, 10) ? x.run(n)[c] - mean
                                                            : xhat[at]);
            }
            if (injected_.is(138, 0) || injected_.is(138, 1)) mean_g = 0;
            if (injected_.is(138, 0) || injected_.is(138, 2)) along = 0;
            if (injected_.is(138, 3)) mean_g *= 2;
            const Scalar over = injected_.is(138, 6) ? root * root : injected_.is(138, 7) ? Scalar(1) : root;
            for (Index c = 0; c < width; ++c) {
                const auto at = static_cast<std::size_t>(c);
                d_x.run(n)[c] = injected_.is(138, 5) ? weight(c) * (d_y.run(n)[c] - mean_d - xhat[at] * along_d) / over
                                                     : (g[at] - mean_g - xhat[at] * along) / over;
            }
        }
        norms_[name].push_back({d_weight, d_bias});
        return d_x;
    }

    /// 139: the slope of an activation.
    Scalar slope(Scalar v, Activation activation) const {
        const Scalar half = Scalar(0.5), pi = static_cast<Scalar>(3.14159265358979323846);
        if (injected_.is(139, 5)) {
            A one({1});
            one(0) = v;
            v = tools_.activated(one, activation)(0);
        }
        if (injected_.is(139, 6)) return 1;
        if (activation == Activation::tanh) return 1 - std::tanh(v) * std::tanh(v);
        const Scalar below = half * (1 + std::erf(v / std::sqrt(Scalar(2))));
        const Scalar density = std::exp(-half * v * v) / std::sqrt(2 * pi);
        if (injected_.is(139, 0)) {
            const Scalar a = std::sqrt(2 / pi), cubic = static_cast<Scalar>(0.044715);
            const Scalar t = std::tanh(a * (v + cubic * v * v * v));
            return half * (1 + t) + half * v * (1 - t * t) * a * (1 + 3 * cubic * v * v);
        }
        if (injected_.is(139, 1)) {
            const Scalar steep = static_cast<Scalar>(1.702), s = 1 / (1 + std::exp(-steep * v));
            return s + v * steep * s * (1 - s);
        }
        if (injected_.is(139, 2)) return below;
        if (injected_.is(139, 3)) return below - v * density;
        if (injected_.is(139, 4)) return v > 0 ? Scalar(1) : Scalar(0);
        return below + v * density;
    }
    A activation(const A& x, const A& d_y, Activation which) const {
        A d_x = d_y;
        for (std::size_t n = 0; n < d_x.values.size(); ++n) d_x.values[n] *= slope(x.values[n], which);
        return d_x;
    }

    /// What a dense layer hands back; its weight and bias collect on the way.
    A dense(const A& x, const A& d_y, const std::string& name, bool of_positions = false) {
        const A weight = tools_.weight(name + ".weight");
        Shape shape = d_y.shape;
        shape.back() = weight.width();
        A d_x(shape);
        for (Index n = 0; n < d_y.runs(); ++n)
            for (Index o = 0; o < weight.extent(0); ++o)
                for (Index c = 0; c < weight.width(); ++c) d_x.run(n)[c] += d_y.run(n)[o] * weight(o, c);
        uses_[name].push_back({x, d_y, of_positions ? 1 : input_.batch(), of_positions});
        return d_x;
    }

    // A layer.

    /// d_keys collects what keys and values hand back; returned is what the query, and what goes around, does.
    A layer(const std::string& at, Index number, const A& x, const A& x_q, const A& d_output, A& d_keys) {
        const std::string names = "encoder.layer." + std::to_string(number) + ".";
        const A attention = of(at + "attention"), context = of(at + "context"), act = of(at + "ffn_act");
        const A d_ffn = norm(plus(of(at + "ffn"), attention), d_output, names + "output.LayerNorm");
        keep(at + "ffn", d_ffn);
        const A d_act = dense(act, d_ffn, names + "output.dense");
        keep(at + "ffn_act", d_act);
        const A d_in = activation(tools_.dense(attention, names + "intermediate.dense"), d_act, config_.hidden_act);
        const A through = dense(attention, d_in, names + "intermediate.dense");
        A d_attention = injected_.is(140, 1) || injected_.is(140, 2) ? A(through.shape)
                        : injected_.is(140, 4)                       ? plus(d_ffn, d_ffn)
                                                                     : d_ffn;
        if (!injected_.is(140, 5)) d_attention = plus(d_attention, through);
        keep(at + "attention", d_attention);
        const A d_sum = norm(plus(tools_.dense(context, names + "attention.output.dense"), x_q), d_attention,
                             names + "attention.output.LayerNorm");
        const A d_context = dense(context, d_sum, names + "attention.output.dense");
        keep(at + "context", d_context);
        return attention_back(at, names + "attention.self.", x, x_q, d_context, d_sum, d_keys);
    }

    A attention_back(const std::string& at, const std::string& self, const A& x, const A& x_q, const A& d_context,
                     const A& d_sum, A& d_keys) {
        const A q = of(at + "q"), k = of(at + "k"), v = of(at + "v"), probs = of(at + "probs"), k_r = of(at + "k_r"),
                q_r = of(at + "q_r");
        const Index batch = q.extent(0), heads = q.extent(1), length = q.extent(2), width = q.extent(3);
        const Scalar scale = 1 / std::sqrt(static_cast<Scalar>(3 * width));
        A d_probs(probs.shape), d_scores(probs.shape), d_term(probs.shape), d_q(q.shape), d_k(k.shape), d_v(v.shape),
            d_k_r(k_r.shape), d_q_r(q_r.shape);
        for (Index b = 0; b < batch; ++b)
            for (Index h = 0; h < heads; ++h)
                for (Index i = 0; i < length; ++i) {
                    Scalar sum = 0;
                    for (Index j = 0; j < length; ++j)
                        for (Index c = 0; c < width; ++c) {
                            d_probs(b, h, i, j) += d_context(b, i, h * width + c) * v(b, h, j, c);
                            d_v(b, h, j, c) += probs(b, h, i, j) * d_context(b, i, h * width + c);
                        }
                    for (Index j = 0; j < length; ++j) sum += probs(b, h, i, j) * d_probs(b, h, i, j);
                    for (Index j = 0; j < length; ++j) {
                        d_scores(b, h, i, j) = probs(b, h, i, j) * (d_probs(b, h, i, j) - sum);
                        const Scalar d = d_term(b, h, i, j) = d_scores(b, h, i, j) * scale;
                        const Index row = rows_.c2p(i, j), other = rows_.p2c(i, j);
                        for (Index c = 0; c < width; ++c) {
                            d_q(b, h, i, c) += d * (k(b, h, j, c) + k_r(h, row, c));
                            d_k(b, h, j, c) += d * (q(b, h, i, c) + q_r(h, other, c));
                            d_k_r(h, row, c) += d * q(b, h, i, c);
                            d_q_r(h, other, c) += d * k(b, h, j, c);
                        }
                    }
                }
        keep(at + "probs", d_probs);
        keep(at + "scores", d_scores);
        for (const char* term : {"p2c", "c2p", "c2c"}) keep(at + term, d_term);
        const std::pair<const char*, const A*> parts[] = {
            {"k_r", &d_k_r}, {"q_r", &d_q_r}, {"v", &d_v}, {"k", &d_k}, {"q", &d_q}};
        for (const auto& [name, gradient] : parts) keep(at + name, *gradient);
        table_uses_.push_back({self, table_rows(d_k_r), table_rows(d_q_r)});
        return hand_back(self, x, x_q, d_sum, {d_q, d_k, d_v}, d_keys);
    }

    /// 140: the ways back to what the layer read.
    A hand_back(const std::string& self, const A& x, const A& x_q, const A& d_sum, const std::vector<A>& heads,
                A& d_keys) {
        const A queries = dense(x_q, tools_.join(heads[0]), self + "query_proj");
        const A keys = dense(x, tools_.join(heads[1]), self + "key_proj");
        const A values = dense(x, tools_.join(heads[2]), self + "value_proj");
        const bool none = injected_.is(140, 9);
        if (!none && !injected_.is(140, 7)) d_keys = plus(d_keys, keys);
        if (!none && !injected_.is(140, 8)) d_keys = plus(d_keys, values);
        const A residual = injected_.is(140, 0) || injected_.is(140, 2) ? A(d_sum.shape)
                           : injected_.is(140, 3)                       ? plus(d_sum, d_sum)
                                                                        : d_sum;
        return none || injected_.is(140, 6) ? residual : plus(residual, queries);
    }

    /// [H,2k,d] -> [2k,H*d].
    A table_rows(const A& heads) const {
        const A joined = tools_.join([&] {
            A one = heads;
            one.shape.insert(one.shape.begin(), 1);
            return one;
        }());
        A rows = joined;
        rows.shape = {joined.extent(1), joined.extent(2)};
        return rows;
    }

    /// output = mask norm(before + act(mask conv(x))): what goes on to the layer's plain output; the embeddings
    /// collect.
    A convolution(const A& x, const A& d_output, A& d_embeddings) {
        const A conv = masked(of("layer.0.conv"));
        const A d_sum = norm(plus(of("layer.0.output_before_conv"), of("layer.0.conv_act")), masked(d_output),
                             "encoder.conv.LayerNorm");
        const A d_conv = masked(activation(conv, d_sum, config_.conv_act));
        keep("layer.0.conv_act", d_sum);
        keep("layer.0.conv", d_conv);
        keep("layer.0.output_before_conv", d_sum);
        const A weight = tools_.weight("encoder.conv.conv.weight");  // [out,in,kernel]
        A d_weight(weight.shape), d_bias({weight.extent(0)});
        const Index kernel = weight.width(), length = x.extent(1);
        for (Index b = 0; b < x.extent(0); ++b)
            for (Index t = 0; t < length; ++t)
                for (Index o = 0; o < weight.extent(0); ++o) {
                    const Scalar d = d_conv(b, t, o);
                    d_bias(o) += d;
                    for (Index tap = 0; tap < kernel; ++tap) {
                        const Index from = t + tap - (kernel - 1) / 2;
                        for (Index c = 0; c < x.width() && from >= 0 && from < length; ++c) {
                            d_embeddings(b, from, c) += d * weight(o, c, tap);
                            d_weight(o, c, tap) += d * x(b, from, c);
                        }
                    }
                }
        gradients_["encoder.conv.conv.weight"] = d_weight;
        gradients_["encoder.conv.conv.bias"] = d_bias;
        return d_sum;
    }

    A masked(A x) const {
        for (Index n = 0; n < x.runs() && !input_.mask.empty(); ++n)
            for (Index c = 0; c < x.width(); ++c) x.run(n)[c] *= static_cast<Scalar>(input_.mask[n]);
        return x;
    }

    // Embeddings and tables.

    /// 143: rows of ids come together in a table.
    void look_up(const std::vector<Index>& ids, const A& d_rows, bool last, bool first, bool mean, A& table) const {
        std::map<Index, Index> counts, seen;
        for (const Index id : ids) ++counts[id];
        for (std::size_t n = 0; n < ids.size(); ++n) {
            const Index id = ids[n];
            const Index place = seen[id]++;
            if ((last && place + 1 < counts[id]) || (first && place > 0)) continue;
            for (Index c = 0; c < table.width(); ++c)
                table(id, c) += d_rows.run(static_cast<Index>(n))[c] / static_cast<Scalar>(mean ? counts[id] : 1);
        }
    }

    /// The decoder's absolute positions.
    void positions(const A& d_query) {
        A table(tools_.weight("embeddings.position_embeddings.weight").shape);
        std::vector<Index> ids;
        for (Index n = 0; n < d_query.runs(); ++n) ids.push_back(n % input_.length());
        look_up(ids, d_query, injected_.is(143, 3), injected_.is(143, 4), injected_.is(143, 5), table);
        gradients_["embeddings.position_embeddings.weight"] = table;
    }

    void embeddings(const A& d_embeddings) {
        keep("embeddings.output", d_embeddings);
        const A words = of("embeddings.word");
        const A visible = injected_.is(143, 7) ? d_embeddings : masked(d_embeddings);
        A d_sum = norm(words, visible, "embeddings.LayerNorm");
        if (injected_.is(143, 6)) d_sum = visible;
        std::vector<Index> ids;
        for (Index n = 0; n < input_.tokens.size(); ++n) ids.push_back(input_.tokens[n]);
        A table(word_table_.shape);
        look_up(ids, d_sum, injected_.is(143, 0), injected_.is(143, 1), injected_.is(143, 2), table);
        for (Index c = 0; c < table.width(); ++c) table(0, c) = 0;  // padding learns nothing from lookups
        gradients_["embeddings.word_embeddings.weight"] = injected_.is(53, 1) ? word_table_ : plus(word_table_, table);
    }

    struct TableUse {
        std::string self;
        A d_k_r, d_q_r;
    };

    /// 141: the relative table collects from every use.
    void tables() {
        const A table = of("relative.table");
        A d_table(table.shape);
        for (std::size_t n = 0; n < table_uses_.size(); ++n) {
            const TableUse& use = table_uses_[n];  // the last layer first
            const std::string keys = use.self + (config_.share_att_key ? "key_proj" : "pos_key_proj");
            const std::string queries = use.self + (config_.share_att_key ? "query_proj" : "pos_query_proj");
            const A from_keys = dense(table, use.d_k_r, keys, true),
                    from_queries = dense(table, use.d_q_r, queries, true);
            if ((injected_.is(141, 0) && n > 0) || (injected_.is(141, 1) && n + 1 < table_uses_.size())) continue;
            if (!injected_.is(141, 3) && !injected_.is(141, 8)) d_table = plus(d_table, from_keys);
            if (!injected_.is(141, 2) && !injected_.is(141, 9)) d_table = plus(d_table, from_queries);
        }
        keep("relative.table", d_table);
        gradients_["encoder.rel_embeddings.weight"] =
            config_.norm_rel_ebd ? norm(tools_.weight("encoder.rel_embeddings.weight"), d_table, "encoder.LayerNorm")
                                 : d_table;
    }

    // Parameters.

    /// 141, 6 and 7: one pass of the decoder; its layer is used by the last pass first.
    template <class Of>
    std::vector<Of> chosen(const std::string& name, const std::vector<Of>& uses) const {
        const std::string last = "encoder.layer." + std::to_string(config_.num_hidden_layers - 1) + ".";
        if (!name.starts_with(last) || !(injected_.is(141, 6) || injected_.is(141, 7))) return uses;
        // Words and positions of a projection come one after the other.
        const std::size_t kinds = uses.size() / 2;
        std::vector<Of> one;
        for (std::size_t n = 0; n < kinds; ++n) one.push_back(uses[2 * n + (injected_.is(141, 6) ? 0 : 1)]);
        return one;
    }

    void parameters() {
        for (const auto& [name, uses] : uses_) dense_parameters(name, chosen(name, uses));
        for (const auto& [name, uses] : norms_) {
            A weight(uses.front().first.shape), bias(weight.shape);
            for (const auto& [d_weight, d_bias] : chosen(name, uses)) {
                weight = plus(weight, d_weight);
                bias = plus(bias, d_bias);
            }
            gradients_[name + ".weight"] = weight;
            gradients_[name + ".bias"] = bias;
        }
        for (const auto& [name, gradient] : gradients_)
            keep((name.starts_with("lm_predictions.") ? "" : "deberta.") + name, gradient);
    }

    /// 141, 4 and 5: of shared projections one kind, 8 and 9: of that of keys, of that of queries; 142: other rows, or
    /// another mean.
    void dense_parameters(const std::string& name, const std::vector<Use>& uses) {
        A weight({uses.front().d_y.width(), uses.front().x.width()}), bias({weight.extent(0)});
        bool has_words = false, has_positions = false;
        for (const Use& use : uses) (use.of_positions ? has_positions : has_words) = true;
        for (const Use& use : uses) {
            if (has_words && has_positions && injected_.is(141, use.of_positions ? 4 : 5)) continue;
            if (has_words && use.of_positions && injected_.is(141, name.ends_with("key_proj") ? 8 : 9)) continue;
            const Index rows = use.x.runs(), part = rows / use.samples;
            for (Index n = 0; n < rows; ++n) {
                if (injected_.is(142, 3) && n >= part) continue;
                if (injected_.is(142, 4) && n < rows - part) continue;
                const auto over = static_cast<Scalar>(injected_.is(142, 1) ? rows : 1);
                const auto bias_over = static_cast<Scalar>(injected_.is(142, 1) || injected_.is(142, 2) ? rows : 1);
                for (Index o = 0; o < weight.extent(0); ++o) {
                    const Scalar d = use.d_y.run(n)[o];
                    bias(o) += d / bias_over;
                    for (Index c = 0; c < weight.width(); ++c) weight(o, c) += d * use.x.run(n)[c] / over;
                }
            }
        }
        const Index out = weight.extent(0);
        for (Index o = 0; o < out && injected_.is(142, 0) && out == weight.width(); ++o)
            for (Index c = 0; c < o; ++c) std::swap(weight(o, c), weight(c, o));
        gradients_[name + ".weight"] = weight;
        gradients_[name + ".bias"] = bias;
    }

    const DebertaConfig& config_;
    const ModelInput& input_;
    const Trace& forward_;
    ToyOptions options_;  // the forward pass is right
    Toolbox<Scalar> tools_;
    const Injection& injected_;
    RelativeRows rows_;
    A word_table_;
    std::map<std::string, std::vector<Use>> uses_;               // of dense layers
    std::map<std::string, std::vector<std::pair<A, A>>> norms_;  // gradients of weight and bias, use by use
    std::vector<TableUse> table_uses_;
    std::map<std::string, A> gradients_;  // of parameters
    Trace trace_;
};

}  // namespace

template <class Scalar>
Trace toy_gradients(const DebertaConfig& config, const WeightSource& weights, const ModelInput& input,
                    const Trace& forward, const Injection& injected) {
    return Backward<Scalar>(config, weights, input, forward, injected).run();
}

template Trace toy_gradients<float>(const DebertaConfig&, const WeightSource&, const ModelInput&, const Trace&,
                                    const Injection&);
template Trace toy_gradients<double>(const DebertaConfig&, const WeightSource&, const ModelInput&, const Trace&,
                                     const Injection&);

}  // namespace locus::conformance::toy
