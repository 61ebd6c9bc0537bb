#include "viewer/data/explanation_text.h"

#include <charconv>

namespace locus {

namespace {

/// The shortest decimal that reads back as the same number.
template <class Number>
std::string exact(Number number) {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string line(const std::string& name, const std::string& value) { return name + " = " + value + "\n"; }

std::string heading(const ExplainedPair& pair) {
    return pair.place + "\nquery \"" + pair.query + "\" at " + std::to_string(pair.m) + " looks at key \"" + pair.key +
           "\" at " + std::to_string(pair.n) + ", m - n = " + std::to_string(pair.m - pair.n) + "\n\n";
}

/// "c  left  right  product  running", one line per channel.
template <class Scalar>
std::string products(const std::string& left, const std::string& right, const std::vector<Scalar>& a,
                     const std::vector<Scalar>& b, const std::vector<Scalar>& product,
                     const std::vector<Scalar>& running) {
    std::string text = "channel\t" + left + "\t" + right + "\tproduct\trunning sum\n";
    for (std::size_t c = 0; c < a.size(); ++c)
        text += std::to_string(c) + "\t" + exact(a[c]) + "\t" + exact(b[c]) + "\t" + exact(product[c]) + "\t" +
                exact(running[c]) + "\n";
    return text;
}

std::string softmax_lines(bool visible, float maximum, Index key, float shifted, float exponential, float denominator,
                          float probability) {
    if (!visible) return "the mask hides this pair, so its probability is exactly 0\n";
    return line("row maximum (key " + std::to_string(key) + ")", exact(maximum)) +
           line("score - row maximum", exact(shifted)) + line("exp", exact(exponential)) +
           line("row sum of exp", exact(denominator)) + line("probability", exact(probability));
}

}  // namespace

std::string text_of(const RotaryExplanation<float>& cell, const ExplainedPair& pair, const std::vector<double>& theta,
                    bool has_row) {
    std::string text = heading(pair);
    text += "plane\tchannels\ttheta\t(m - n) theta\tq turned\tk turned\tproducts\tstep\n";
    for (std::size_t t = 0; t < cell.planes.size(); ++t) {
        const RotatedPlane<float>& plane = cell.planes[t];
        const auto two = [](float a, float b, const char* between) { return exact(a) + between + exact(b); };
        text += std::to_string(t) + "\t" + std::to_string(plane.a) + ", " + std::to_string(plane.b) + "\t" +
                exact(theta.at(t)) + "\t" + exact(static_cast<double>(pair.m - pair.n) * theta.at(t)) + "\t" +
                two(plane.q_a_rot, plane.q_b_rot, ", ") + "\t" + two(plane.k_a_rot, plane.k_b_rot, ", ") + "\t" +
                two(plane.product_a, plane.product_b, " + ") + "\t" + exact(plane.step) + "\n";
    }
    text += "\n" + products("q turned", "k turned", cell.left, cell.right, cell.products, cell.running);
    text +=
        line("sum", exact(cell.sum)) + line("square root of d", exact(cell.divisor)) + line("score", exact(cell.score));
    if (!has_row) return text;
    const SoftmaxSteps<float>& steps = cell.softmax;
    return text + softmax_lines(steps.visible, steps.row_maximum, steps.row_maximum_key, steps.shifted,
                                steps.exponential, steps.denominator, steps.probability);
}

std::string text_of(const LinearExplanation<float>& cell, const ExplainedPair& pair,
                    const std::vector<std::string>& words) {
    std::string text = heading(pair) + "linear attention, phi(x) = elu(x) + 1, turned in the numerator alone\n\n";
    text += products("phi(q) turned", "phi(k) turned", cell.left, cell.right, cell.products, cell.running);
    text += "\nkey\tnumerator\trunning\tphi(q) phi(k)\trunning\tweight\n";
    for (std::size_t j = 0; j < cell.keys.size(); ++j) {
        const LinearKey<float>& key = cell.keys[j];
        text += std::to_string(j) + " " + words.at(j) + "\t" + exact(key.numerator) + "\t" +
                exact(key.running_numerator) + "\t" + exact(key.positive) + "\t" + exact(key.running_denominator) +
                "\t" + exact(key.weight) + "\n";
    }
    return text + line("denominator", exact(cell.denominator)) + line("weight", exact(cell.weight));
}

}  // namespace locus
