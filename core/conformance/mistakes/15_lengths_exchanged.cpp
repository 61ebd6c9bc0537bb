#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_15() {
    return {.number = 15,
            .name = "the index is built for Tk queries and Tq keys and read as Tq x Tk",
            .symptom = "crashes, or is wrong where there are fewer queries than keys; invisible where Tq = Tk",
            .betrays = "rows of a short query block differ from the first rows of the square case",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"", {{"/relative.index", {}, [](const Replay& at) {
                                    const RelativeRule rule = relative_rule(at);
                                    if (rule.queries == rule.keys) throw NotEnough{"two lengths"};
                                    RelativeRule turned = rule;
                                    std::swap(turned.queries, turned.keys);
                                    const Tensor<double> built =
                                        turned.matrix([&](Index offset) { return turned.row(offset); });
                                    return Tensor<double>({rule.queries, rule.keys}, built.values());
                                }}}}}};
}

}  // namespace locus::conformance
