// The upper half: what there is to learn from, the loss, the animation through the snapshots.
#include <algorithm>
#include <cmath>

#include "viewer/pages/training/training.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/plots/plot_layout.h"
#include "viewer/ui/animation_controls.h"
#include "viewer/ui/ui.h"

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
        ui.text(axes.area.x0 - ui.px(6), y, tick_label(tick, losses), ui.theme->muted, Face::mono_small, Align::right);
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

/// Every step where it fits, else means of neighbours: one point per pixel.
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

void TrainingPage::draw_opening(Scene& scene, const Rect& area) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const float half = std::floor(area.width() * 0.47f);
    ui.text(area.x0, area.y0 + ui.px(8), "Nothing is learned yet", theme.text, Face::title);
    ui.paragraph(
        area.x0, area.y0 + ui.px(20), half - ui.px(20),
        "Some words of each sentence are hidden, and the model guesses them: the loss says how badly. Below is "
        "one head of fresh weights, all noise. Train it, and watch what grows: the three terms, and how they "
        "depend on distance.",
        theme.muted);
    const float x = area.x0 + half;
    ui.text(x, area.y0 + ui.px(8), "From the corpus", theme.text, Face::title);
    ui.text(area.x1, area.y0 + ui.px(8), grouped(course_->subject->sentences) + " sentences", theme.muted,
            Face::mono_small, Align::right);
    float y = area.y0 + ui.px(30);
    for (const std::string& line : course_->subject->opening) {
        if (y + ui.px(8) > area.y1) break;
        ui.text_within(x, y, area.x1 - x, line, theme.muted, Face::label);
        y += ui.px(18);
    }
}

void TrainingPage::draw_loss(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    TrainingPageState& state = scene.state.training;
    const float title = area.y0 + ui.px(8);
    const Rect plot{area.x0 + ui.px(34), area.y0 + ui.px(22), area.x1, area.y1 - ui.px(20)};
    const double alike = std::log(static_cast<double>(course_->subject->pieces));
    double highest = alike;
    for (const CourseStep& step : course_->steps) highest = std::max(highest, step.loss);
    const bool counted = course_->query.steps > 0;
    const double last = counted ? static_cast<double>(course_->done ? course_->steps.size()
                                                                    : static_cast<std::size_t>(course_->query.steps))
                                : static_cast<double>(course_->steps.size()) / std::max(course_->share, 1e-3);
    const LossAxes axes{plot, std::max(1.0, course_->done ? static_cast<double>(course_->steps.size()) : last),
                        highest * 1.06};
    float x =
        plot.x0 + ui.text(plot.x0, title, "How badly hidden words are guessed", theme.text, Face::title) + ui.px(14);
    const CourseSnapshot& shown = photographed(state);
    // The key, and what the axis counts.
    x += ui.px(16);
    ui.draw().line({x - ui.px(16), title}, {x - ui.px(4), title}, faded(theme.muted, 0.7f), ui.px(1.5f));
    x += ui.text(x, title, "training", theme.muted, Face::label) + ui.px(22);
    ui.draw().disc({x - ui.px(8), title}, ui.px(3), theme.accent);
    x += ui.text(x, title, "held out", theme.muted, Face::label) + ui.px(10);
    ui.text_within(plot.x1, title, plot.x1 - x, "\u2212ln p, mean", theme.muted, Face::mono_small, Align::right);

    draw_grid(ui, axes);
    ui.draw().push_clip({plot.x0, plot.y0 - ui.px(4)}, {plot.x1 + ui.px(4), plot.y1 + ui.px(4)});
    draw_dashed(ui, {{plot.x0, axes.y(alike)}, {plot.x1, axes.y(alike)}}, faded(theme.muted, 0.7f), ui.px(1), 3);
    const std::vector<ImVec2> line = loss_line(axes, course_->steps);
    if (line.size() > 1)
        ui.draw().polyline(line.data(), static_cast<int>(line.size()), faded(theme.muted, 0.7f), ui.px(1.25f));
    const float at = std::floor(axes.x(static_cast<double>(shown.step)));
    ui.fill({at, plot.y0, at + ui.px(1), plot.y1}, faded(theme.text, 0.5f));
    std::vector<ImVec2> dots;
    for (const CourseSnapshot& one : course_->snapshots)
        dots.push_back({axes.x(static_cast<double>(one.step)), axes.y(one.heldout)});
    if (dots.size() > 1) ui.draw().polyline(dots.data(), static_cast<int>(dots.size()), theme.accent, ui.px(1.75f));
    for (std::size_t n = 0; n < dots.size(); ++n)
        ui.draw().disc(dots[n], ui.px(&course_->snapshots[n] == &shown ? 4.5f : 3.0f), theme.accent);
    ui.draw().pop_clip();
    const std::string guess = "every word alike: ln " + grouped(course_->subject->pieces) + " = " + fixed(alike, 2);
    ui.text(plot.x1 - ui.px(6), axes.y(alike) + ui.px(10), guess, theme.muted, Face::mono_small, Align::right);

    ui.note("training/steps", static_cast<double>(course_->steps.size()));
    ui.note("training/snapshots", static_cast<double>(course_->snapshots.size()));
    point_at_loss(ui, state, plot, axes.last);
}

void TrainingPage::point_at_loss(const Ui& ui, TrainingPageState& state, const Rect& plot, double last_step) {
    const Theme& theme = *ui.theme;
    const Touch mouse = ui.touch("loss", plot);
    if (!mouse.hovered && !mouse.held) return;
    const double under = std::clamp(static_cast<double>((mouse.at.x - plot.x0) / plot.width()), 0.0, 1.0) * last_step;
    std::size_t nearest = 0;
    for (std::size_t n = 1; n < course_->snapshots.size(); ++n)
        if (std::abs(static_cast<double>(course_->snapshots[n].step) - under) <
            std::abs(static_cast<double>(course_->snapshots[nearest].step) - under))
            nearest = n;
    if (mouse.held) {
        Animation animation = history_of(state);
        animation.at = static_cast<double>(nearest);
        animation.playing = false;
        keep_animation(state, animation);
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

void TrainingPage::draw_animation(Scene& scene, const Rect& line) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    TrainingPageState& state = scene.state.training;
    const float y = line.middle_y() + ui.px(2);
    const CourseSnapshot& shown = photographed(state);
    if (look_->snapshots.size() < 2) {
        ui.text(line.x0, y, "One head of fresh weights", theme.text, Face::title);
        return;
    }
    Animation animation = history_of(state);
    const std::string step = shown.step == 0 ? "fresh weights" : "step " + grouped(shown.step);
    const std::string place =
        std::to_string(shown_snapshot(state) + 1) + " of " + std::to_string(look_->snapshots.size());
    const float x = draw_animation_controls(ui, "film", line.x0, y, ui.px(200), animation, last_frame(), place,
                                            scene.state.reduce_motion) +
                    ui.px(14);
    keep_animation(state, animation);
    const CourseSnapshot& now = photographed(state);
    ui.note("training/step", static_cast<double>(now.step));
    ui.note("training/heldout", now.heldout);
    const std::string note =
        step + "  \u00b7  " + fixed(now.seconds, 1) + " s  \u00b7  held-out loss " + fixed(now.heldout, 2);
    ui.text_within(x, y, line.x1 - x, note, theme.text, Face::mono_small);
}

// The numbers of what is drawn, to be exported.

namespace {

/// "step 40" for each of the first `count` snapshots.
std::vector<std::string> step_names(const Course& course, Index count) {
    std::vector<std::string> names;
    for (Index n = 0; n < count; ++n)
        names.push_back("step " + std::to_string(course.snapshots[static_cast<std::size_t>(n)].step));
    return names;
}

/// The mean over distance, a column for each snapshot.
NamedMatrix curves_matrix(const std::string& id, const CurveHistory& curve, const std::vector<std::string>& steps) {
    const Index distances = 2 * kCurveReach + 1;
    Matrix<double> means(distances, static_cast<Index>(steps.size()));
    for (std::size_t n = 0; n < steps.size(); ++n)
        means.col(static_cast<Index>(n)) = Eigen::Map<const Eigen::VectorXd>(curve.means[n].data(), distances);
    NamedMatrix sheet = named_matrix(id, id + " over distance", id, means);
    for (Index d = -kCurveReach; d <= kCurveReach; ++d) sheet.rows.push_back(whole(d));
    sheet.cols = steps;
    return sheet;
}

NamedMatrix snapshots_matrix(const Course& course, const std::vector<std::string>& steps) {
    Matrix<double> values(static_cast<Index>(steps.size()), 3);
    for (std::size_t n = 0; n < steps.size(); ++n) {
        const CourseSnapshot& one = course.snapshots[n];
        values.row(static_cast<Index>(n)) << one.seconds, one.loss, one.heldout;
    }
    NamedMatrix sheet = named_matrix("snapshots", "snapshots", "snapshots", values);
    sheet.rows = steps;
    sheet.cols = {"seconds", "training loss", "held-out loss"};
    return sheet;
}

NamedMatrix loss_matrix(const Course& course) {
    Matrix<double> values(static_cast<Index>(course.steps.size()), 2);
    std::vector<std::string> steps;
    for (std::size_t n = 0; n < course.steps.size(); ++n) {
        values.row(static_cast<Index>(n)) << course.steps[n].seconds, course.steps[n].loss;
        steps.push_back("step " + std::to_string(course.steps[n].step));
    }
    NamedMatrix sheet = named_matrix("loss", "training loss", "loss", values);
    sheet.rows = steps;
    sheet.cols = {"seconds", "training loss"};
    return sheet;
}

}  // namespace

std::vector<NamedMatrix> TrainingPage::numbers(const Scene& scene) {
    if (!course_ || !look_) return {};
    TrainingPageState state = scene.state.training;
    fit(state);
    std::vector<NamedMatrix> all;
    const Trace& shown = look_->snapshots[shown_snapshot(state)]->trace;
    for (const TrainingPanel& panel : kTrainingPanels) {
        const std::string stage = "layer." + std::to_string(state.layer) + "." + panel.stem;
        all.push_back(named_slice(panel.stem, panel.title, shown.at(stage), 0, state.head));
        all.back().rows = all.back().cols = look_->sentence.labels;
    }
    const auto count = static_cast<Index>(std::min(look_->snapshots.size(), course_->snapshots.size()));
    const std::vector<std::string> steps = step_names(*course_, count);
    const HeadHistory animation = head_history(*look_, state.layer, state.head);
    all.push_back(curves_matrix("curve c2p", animation.c2p, steps));
    all.push_back(curves_matrix("curve p2c", animation.p2c, steps));
    all.push_back(snapshots_matrix(*course_, steps));
    if (!course_->steps.empty()) all.push_back(loss_matrix(*course_));
    return all;
}

}  // namespace locus
