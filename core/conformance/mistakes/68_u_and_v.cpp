#include <cmath>

#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Formula bias(const std::string& stem, const std::string& from, double (*factor)(double root)) {
    return {stem, {}, [from, factor](const Replay& at) {
                const double times = factor(std::sqrt(static_cast<double>(at("q").extent(3))));
                return mapped(at.right(from), [&](double value) { return value * times; });
            }};
}

std::vector<Formula> both(double (*factor)(double root)) {
    return {bias("bias.u", "bias.u", factor), bias("bias.v", "bias.v", factor)};
}

}  // namespace

Mistake mistake_68() {
    const auto as_it_is = [](double) { return 1.0; };
    const auto nothing = [](double) { return 0.0; };
    return {.number = 68,
            .name = "u and v are exchanged, scaled or left out",
            .symptom = "a small error that is the same for every query: u shifts columns of ac, v distances of bd",
            .betrays = "ac minus the right one is the same in every row; so is bd_raw",
            .evidence = "",
            .lesson = "25",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"ac", "bd_raw"},
            .variants = {{"exchanged", {bias("bias.u", "bias.v", as_it_is), bias("bias.v", "bias.u", as_it_is)}},
                         {"times sqrt(d)", both([](double root) { return root; })},
                         {"left out", both(nothing)},
                         {"divided by sqrt(d)", both([](double root) { return 1 / root; })},
                         {"u left out", {bias("bias.u", "bias.u", nothing)}},
                         {"v left out", {bias("bias.v", "bias.v", nothing)}}}};
}

}  // namespace locus::conformance
