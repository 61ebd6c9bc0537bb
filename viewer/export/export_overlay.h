#pragma once
// What should leave the program, as which file: the overlay of Ctrl+E.
#include <string>
#include <vector>

#include "viewer/page.h"

namespace locus {

class ExportOverlay {
public:
    void draw(Scene& scene, Page& page, const Rect& screen);
    /// Up and down choose a row, left and right change it, Enter writes the file.
    void press(Scene& scene, const KeyPress& press);
    void close() { open_ = false; }

private:
    enum Row : std::size_t { what, format, pixels, background, file, rows };

    void look_at(Scene& scene, Page& page);
    bool applies(const ExportChoice& choice, std::size_t row) const;
    std::string region(const ExportChoice& choice) const;
    std::string suggested(const State& state) const;
    void draw_row(Scene& scene, std::size_t row, float x, float y, float width);
    void draw_file(Scene& scene, float x, float y, float width);
    void write(State& state) const;

    bool open_ = false;
    std::vector<std::string> regions_;
    bool focus_ = false;  // the box for the name takes the keyboard with the next frame
};

}  // namespace locus
