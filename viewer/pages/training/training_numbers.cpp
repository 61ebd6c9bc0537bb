// What is drawn, as numbers to take away.
#include "viewer/pages/training/training.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

/// "step 40" for each of the first `count` snapshots.
std::vector<std::string> step_names(const Course& course, Index count) {
    std::vector<std::string> names;
    for (Index n = 0; n < count; ++n)
        names.push_back("step " + std::to_string(course.snapshots[static_cast<std::size_t>(n)].step));
    return names;
}

/// The mean over distance, a column for each snapshot.
NamedMatrix curves_sheet(const std::string& id, const CurveFilm& curve, const std::vector<std::string>& steps) {
    const Index distances = 2 * kCurveReach + 1;
    Matrix<double> means(distances, static_cast<Index>(steps.size()));
    for (std::size_t n = 0; n < steps.size(); ++n)
        means.col(static_cast<Index>(n)) = Eigen::Map<const Eigen::VectorXd>(curve.means[n].data(), distances);
    NamedMatrix sheet = named_matrix(id, id + " over distance", id, means);
    for (Index d = -kCurveReach; d <= kCurveReach; ++d) sheet.rows.push_back(whole(d));
    sheet.cols = steps;
    return sheet;
}

NamedMatrix snapshots_sheet(const Course& course, const std::vector<std::string>& steps) {
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

NamedMatrix loss_sheet(const Course& course) {
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
        all.push_back(named_sheet(panel.stem, panel.title, shown.at(stage), 0, state.head));
        all.back().rows = all.back().cols = look_->sentence.labels;
    }
    const auto count = static_cast<Index>(std::min(look_->snapshots.size(), course_->snapshots.size()));
    const std::vector<std::string> steps = step_names(*course_, count);
    const HeadFilm film = head_film(*look_, state.layer, state.head);
    all.push_back(curves_sheet("curve c2p", film.c2p, steps));
    all.push_back(curves_sheet("curve p2c", film.p2c, steps));
    all.push_back(snapshots_sheet(*course_, steps));
    if (!course_->steps.empty()) all.push_back(loss_sheet(*course_));
    return all;
}

}  // namespace locus
