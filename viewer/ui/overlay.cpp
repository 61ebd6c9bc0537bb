#include "viewer/ui/overlay.h"

namespace locus {

Sheet::Sheet(const Ui& ui, const Rect& screen, const Rect& box) : canvas_(ui.draw()), log_(ui.log) {
    ui.fill(screen, faded(ui.theme->background, 0.7f));
    ui.fill(box, ui.theme->panel, 6);
    ui.outline(box, ui.theme->muted, 1, 6);
    canvas_.push_clip(box.min(), box.max());
    if (log_) log_->above = true;
}

Sheet::~Sheet() {
    if (log_) log_->above = false;
    canvas_.pop_clip();
}

}  // namespace locus
