// The upper half: what there is to learn from, the loss, the film through the snapshots.
#include <algorithm>
#include <cmath>

#include "viewer/pages/training/training.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/plots/ticks.h"
#include "viewer/ui/animation_controls.h"
#include "viewer/ui/line_styles.h"

namespace locus {

namespace {

/// From steps and losses to places.
struct LossAxes {
    Rect area;
    double last, high;

    float x(double step) const { return area.x0 + static_cast<float>(step / last) * area.width(); }
    float y(double loss) const {
        return area.y1 - static_cast<float>(std::clamp(loss / high, 0.0, 1.0)) * area.height();
    }
};

void draw_grid(const Ui& ui, const LossAxes& axes) {
    const auto rows = static_cast<int>(axes.area.height() / ui.px(22));
    const std::vector<double> losses = nice_ticks(0, axes.high, std::clamp(rows, 2, 7));
    for (const double tick : losses) {
        const float y = std::floor(axes.y(tick));
        if (tick > 0 && tick < axes.high)
            ui.fill({axes.area.x0, y, axes.area.x1, y + ui.px(1)}, faded(ui.theme->line, 0.6f));
        ui.text(axes.area.x0 - ui.px(6), y, fixed(tick, tick_decimals(losses)), ui.theme->muted, Face::mono_small,
                Align::right);
    }
    const auto columns = static_cast<int>((axes.area.width() - ui.px(60)) / ui.px(64));
    for (const double tick : whole_ticks(0, axes.last, std::clamp(columns, 2, 13))) {
        const float x = std::floor(axes.x(tick));
        ui.fill({x, axes.area.y0, x + ui.px(1), axes.area.y1}, faded(ui.theme->line, 0.6f));
        if (x < axes.area.x1 - ui.px(44))
            ui.text(x, axes.area.y1 + ui.px(11), grouped(static_cast<std::int64_t>(tick)), ui.theme->muted,
                    Face::mono_small, Align::centre);
    }
    ui.text(axes.area.x1, axes.area.y1 + ui.px(11), "steps", ui.theme->muted, Face::mono_small, Align::right);
    ui.outline(axes.area, ui.theme->line);
}

/// Every step where there is room, else means of neighbours: one point per pixel.
std::vector<ImVec2> loss_line(const LossAxes& axes, const std::vector<CourseStep>& steps) {
    const auto places = static_cast<std::size_t>(std::max(1.0f, axes.area.width()));
    const std::size_t each = (steps.size() + places - 1) / places;
    std::vector<ImVec2> line;
    for (std::size_t from = 0; from < steps.size(); from += each) {
        const std::size_t to = std::min(steps.size(), from + each);
        double step = 0, loss = 0;
        for (std::size_t n = from; n < to; ++n) {
            step += static_cast<double>(steps[n].step);
            loss += steps[n].loss;
        }
        const auto count = static_cast<double>(to - from);
        line.push_back({axes.x(step / count), axes.y(loss / count)});
    }
    return line;
}

}  // namespace

void TrainingPage::draw_opening(Scene& scene, const Rect& room) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const float half = std::floor(room.width() * 0.47f);
    ui.text(room.x0, room.y0 + ui.px(8), "Nothing is learnt yet", theme.text, Face::title);
    ui.paragraph(
        room.x0, room.y0 + ui.px(20), half - ui.px(20),
        "Some words of each sentence are hidden, and the model guesses them: the loss says how badly. Below is "
        "one head of fresh weights, all noise. Train it, and watch what grows: the three terms, and how they "
        "depend on distance.",
        theme.muted);
    const float x = room.x0 + half;
    ui.text(x, room.y0 + ui.px(8), "From the corpus", theme.text, Face::title);
    ui.text(room.x1, room.y0 + ui.px(8), grouped(course_->subject->sentences) + " sentences", theme.muted,
            Face::mono_small, Align::right);
    float y = room.y0 + ui.px(30);
    for (const std::string& line : course_->subject->opening) {
        if (y + ui.px(8) > room.y1) break;
        ui.text_within(x, y, room.x1 - x, line, theme.muted, Face::label);
        y += ui.px(18);
    }
}

void TrainingPage::draw_loss(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    TrainingPageState& state = scene.state.training;
    const float title = room.y0 + ui.px(8);
    const Rect area{room.x0 + ui.px(34), room.y0 + ui.px(22), room.x1, room.y1 - ui.px(20)};
    const double alike = std::log(static_cast<double>(course_->subject->pieces));
    double highest = alike;
    for (const CourseStep& step : course_->steps) highest = std::max(highest, step.loss);
    const bool counted = course_->query.steps > 0;
    const double last = counted ? static_cast<double>(course_->done ? course_->steps.size()
                                                                    : static_cast<std::size_t>(course_->query.steps))
                                : static_cast<double>(course_->steps.size()) / std::max(course_->share, 1e-3);
    const LossAxes axes{area, std::max(1.0, course_->done ? static_cast<double>(course_->steps.size()) : last),
                        highest * 1.06};
    float x =
        area.x0 + ui.text(area.x0, title, "How badly hidden words are guessed", theme.text, Face::title) + ui.px(14);
    const CourseSnapshot& shown = photographed(state);
    // The key, and what the axis counts.
    x += ui.px(16);
    ui.draw().line({x - ui.px(16), title}, {x - ui.px(4), title}, faded(theme.muted, 0.7f), ui.px(1.5f));
    x += ui.text(x, title, "training", theme.muted, Face::label) + ui.px(22);
    ui.draw().disc({x - ui.px(8), title}, ui.px(3), theme.accent);
    x += ui.text(x, title, "held out", theme.muted, Face::label) + ui.px(10);
    ui.text_within(area.x1, title, area.x1 - x, "\u2212ln p, mean", theme.muted, Face::mono_small, Align::right);

    draw_grid(ui, axes);
    ui.draw().push_clip({area.x0, area.y0 - ui.px(4)}, {area.x1 + ui.px(4), area.y1 + ui.px(4)});
    draw_dashed(ui, {{area.x0, axes.y(alike)}, {area.x1, axes.y(alike)}}, faded(theme.muted, 0.7f), ui.px(1), 3);
    const std::vector<ImVec2> line = loss_line(axes, course_->steps);
    if (line.size() > 1)
        ui.draw().polyline(line.data(), static_cast<int>(line.size()), faded(theme.muted, 0.7f), ui.px(1.25f));
    const float at = std::floor(axes.x(static_cast<double>(shown.step)));
    ui.fill({at, area.y0, at + ui.px(1), area.y1}, faded(theme.text, 0.5f));
    std::vector<ImVec2> dots;
    for (const CourseSnapshot& one : course_->snapshots)
        dots.push_back({axes.x(static_cast<double>(one.step)), axes.y(one.heldout)});
    if (dots.size() > 1) ui.draw().polyline(dots.data(), static_cast<int>(dots.size()), theme.accent, ui.px(1.75f));
    for (std::size_t n = 0; n < dots.size(); ++n)
        ui.draw().disc(dots[n], ui.px(&course_->snapshots[n] == &shown ? 4.5f : 3.0f), theme.accent);
    ui.draw().pop_clip();
    const std::string guess = "every word alike: ln " + grouped(course_->subject->pieces) + " = " + fixed(alike, 2);
    ui.text(area.x1 - ui.px(6), axes.y(alike) + ui.px(10), guess, theme.muted, Face::mono_small, Align::right);

    const Touch mouse = ui.touch("loss", area);
    ui.note("training/steps", static_cast<double>(course_->steps.size()));
    ui.note("training/snapshots", static_cast<double>(course_->snapshots.size()));
    if (!mouse.hovered && !mouse.held) return;
    const double under = std::clamp(static_cast<double>((mouse.at.x - area.x0) / area.width()), 0.0, 1.0) * axes.last;
    std::size_t nearest = 0;
    for (std::size_t n = 1; n < course_->snapshots.size(); ++n)
        if (std::abs(static_cast<double>(course_->snapshots[n].step) - under) <
            std::abs(static_cast<double>(course_->snapshots[nearest].step) - under))
            nearest = n;
    if (mouse.held) {
        Film film = film_of(state);
        film.at = static_cast<double>(nearest);
        film.playing = false;
        keep_film(state, film);
    }
    if (!mouse.hovered) return;
    const auto place =
        static_cast<std::size_t>(std::clamp(std::lround(under) - 1, 0L, static_cast<long>(course_->steps.size()) - 1));
    const CourseStep& step = course_->steps[place];
    const CourseSnapshot& held = course_->snapshots[nearest];
    draw_tooltip(ui, {{{"step " + grouped(step.step) + "  " + fixed(step.seconds, 1) + " s", theme.text, Face::mono}},
                      {{"training  ", theme.muted}, {fixed(step.loss, 3), theme.text, Face::mono}},
                      {{"held out at step " + grouped(held.step) + "  ", theme.accent},
                       {fixed(held.heldout, 3), theme.text, Face::mono}},
                      {{"press to see that snapshot", theme.muted, Face::label}}});
}

void TrainingPage::draw_film(Scene& scene, const Rect& line) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    TrainingPageState& state = scene.state.training;
    const float y = line.middle_y() + ui.px(2);
    const CourseSnapshot& shown = photographed(state);
    if (look_->snapshots.size() < 2) {
        ui.text(line.x0, y, "One head of fresh weights", theme.text, Face::title);
        return;
    }
    Film film = film_of(state);
    const std::string step = shown.step == 0 ? "fresh weights" : "step " + grouped(shown.step);
    const std::string place =
        std::to_string(shown_snapshot(state) + 1) + " of " + std::to_string(look_->snapshots.size());
    const float x =
        draw_film_controls(ui, "film", line.x0, y, ui.px(200), film, last_frame(), place, scene.state.reduce_motion) +
        ui.px(14);
    keep_film(state, film);
    const CourseSnapshot& now = photographed(state);
    ui.note("training/step", static_cast<double>(now.step));
    ui.note("training/heldout", now.heldout);
    const std::string note =
        step + "  \u00b7  " + fixed(now.seconds, 1) + " s  \u00b7  held-out loss " + fixed(now.heldout, 2);
    ui.text_within(x, y, line.x1 - x, note, theme.text, Face::mono_small);
}

}  // namespace locus
