// The numbers of a cell by name.
#include "viewer/ui/microscope.h"

namespace locus {

void note_cell(const Ui& ui, const CellExplanation<float>& cell) {
    const Ui::Group group(ui, "microscope");
    const auto whole = [&](const char* id, Index value) { ui.note(id, static_cast<double>(value)); };
    const auto real = [&](const char* id, float value) { ui.note(id, static_cast<double>(value)); };
    whole("i", cell.i);
    whole("j", cell.j);
    whole("offset", cell.offset);
    whole("bucket", cell.bucket);
    for (const auto& [id, term] : {std::pair{"c2c", &cell.c2c}, {"c2p", &cell.c2p}, {"p2c", &cell.p2c}}) {
        if (!term->active) continue;
        real(id, term->value);
        if (term->row >= 0) whole((std::string(id) + "/row").c_str(), term->row);
    }
    real("sum", cell.sum);
    real("divisor", cell.divisor);
    real("score", cell.score);
    real("probability", cell.probability);
    if (!cell.visible) return;
    real("row_maximum", cell.row_maximum);
    real("shifted", cell.shifted);
    real("exponential", cell.exponential);
    real("denominator", cell.denominator);
}

}  // namespace locus
