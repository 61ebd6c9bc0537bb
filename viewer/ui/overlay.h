#pragma once
// What lies over the whole page for a moment: palette, export, keys.
#include "viewer/ui/ui.h"

namespace locus {

/// From here to the end of its scope everything is drawn on a box over the dimmed screen; what leaves the box is cut.
class Sheet {
public:
    Sheet(const Ui& ui, const Rect& screen, const Rect& box);
    ~Sheet();
    Sheet(const Sheet&) = delete;
    Sheet& operator=(const Sheet&) = delete;

private:
    Canvas canvas_;
    DrawRecorder* log_;
};

}  // namespace locus
