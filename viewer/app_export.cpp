// What is exported: figures of a frame drawn off screen, numbers, the command that makes them again.
#include <algorithm>
#include <cmath>

#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "viewer/app.h"
#include "viewer/export/matrix_figure.h"
#include "viewer/export/number_files.h"
#include "viewer/export/picture_file.h"
#include "viewer/state/command_line.h"

namespace locus {

namespace {

constexpr int kFrames = 3;  // until what a frame learns from the one before it has settled

/// Puts the state back that a figure was drawn without: animations, overlays, toasts.
class StillState {
public:
    explicit StillState(State& state) : state_(state), kept_(state) {
        state = still_of(state);
        state.editing = state.key_overlay = state.palette = state.exports.open = false;
        state.notice.clear();
        state.refusal.clear();
    }
    ~StillState() { state_ = kept_; }
    StillState(const StillState&) = delete;
    StillState& operator=(const StillState&) = delete;

private:
    State& state_;
    State kept_;
};

}  // namespace

std::vector<std::string> App::words_of_command() const {
    const ImVec2 size = window_.size();
    const float density = window_.content_scale();
    return command_words(state_, static_cast<int>(std::lround(size.x / density)),
                         static_cast<int>(std::lround(size.y / density)));
}

void App::serve_exports() {
    ExportChoice& choice = state_.exports;
    if (std::exchange(choice.copies, false)) {
        const std::vector<std::string> words = words_of_command();
        ImGui::SetClipboardText((copied_ ? copied_(words) : shell_line(words)).c_str());
        state_.notice = copied_notice_;
    }
    if (!choice.wanted || !settled()) return;
    const ExportRequest request = *std::exchange(choice.wanted, std::nullopt);
    try {
        if (!error().empty()) throw Error(fault(), error());
        const std::filesystem::path file = export_file(request);
        const bool here = file.parent_path() == std::filesystem::current_path();
        state_.notice = "saved as " + (here ? file.filename().string() + " in the current folder" : file.string());
    } catch (const Error& error) {
        state_.refusal = error.what();
    } catch (const std::bad_alloc&) {
        state_.refusal = request.file.string() + ": needs more memory than there is, expected a smaller picture";
    }
}

std::filesystem::path App::export_file(ExportRequest request) {
    check(request);
    if (!request.replaces) request.file = free_name(request.file);
    const StillState still(state_);
    std::vector<std::string> words = words_of_command();
    for (std::string& word : request.words()) words.push_back(std::move(word));
    const std::string command = shell_line(words);
    if (!is_picture(request.format()))
        export_numbers(request, command);
    else if (request.region == "page" || request.region == "screen")
        export_screen(request, command);
    else
        export_matrix(request, command);
    return request.file;
}

App::Aside App::draw_aside(const PictureSetup& setup, float scale, const std::function<void(Ui&)>& draw) {
    Aside aside;
    window_.begin_picture(setup);
    for (int frame = 0, attempts = 0; frame < kFrames; ++frame) {
        if (fonts_.update(scale)) window_.reload_fonts();
        apply_theme(theme_of(state_.theme), scale);
        window_.begin_frame();
        aside.log.clear();
        Ui ui(fonts_, theme_of(state_.theme), scale);
        ui.pooling = state_.pooling;
        ui.log = &aside.log;
        draw(ui);
        if (fonts_.stale() && ++attempts < kFrames) --frame;  // a character was missing: once more, with it
        window_.present(theme_of(state_.theme).background, panels_);
    }
    aside.pixels = window_.end_picture();
    styled_scale_ = 0;  // the window's own frames have another
    return aside;
}

void App::write_figure(const ExportRequest& request, const Aside& drawn, const Rect& part, float units,
                       const std::string& title, const std::string& command) {
    if (request.format() == ExportFormat::png) {
        const auto x = static_cast<int>(part.x0), y = static_cast<int>(part.y0);
        const Pixels figure = cropped(drawn.pixels, x, y, static_cast<int>(part.x1) - x, static_cast<int>(part.y1) - y);
        write_picture(request.file, figure, {{"Title", title}, {"Software", program_version()}, {"Source", command}});
        return;
    }
    SvgSetup setup;
    setup.frame = {part.min(), part.max()};
    setup.units = units;
    setup.transparent = request.transparent;
    setup.background = theme_of(state_.theme).background;
    for (const FlatPanel& panel : panels_) setup.panels.push_back({{panel.min, panel.max}, panel.colour});
    setup.title = title;
    setup.command = command;
    setup.software = program_version();
    setup.cells = [&](const ImageMark& image) { return cells_of(image, state_.theme); };
    const std::string svg = svg_of(drawn.log, setup);
    write_atomic_file(request.file, svg);
}

void App::export_screen(const ExportRequest& request, const std::string& command) {
    const float density = window_.content_scale();
    const ImVec2 size{window_.size().x / density, window_.size().y / density};
    const auto pixels = static_cast<float>(request.pixels);
    const float scale = fitting_scale(size, state_.zoom) * pixels;
    const PictureSetup setup{static_cast<int>(std::lround(size.x * pixels)),
                             static_cast<int>(std::lround(size.y * pixels)), pixels, request.transparent};
    const Toasts toasts = std::exchange(toasts_, {});
    const Aside drawn = draw_aside(setup, scale, [&](Ui& ui) {
        Page& shown = page();
        shown.update(state_);
        Scene scene = scene_for(ui, shown);
        draw_parts(scene, shown);
    });
    toasts_ = toasts;
    const Rect all{0, 0, static_cast<float>(setup.width), static_cast<float>(setup.height)};
    write_figure(request, drawn, request.region == "page" ? page_area_ : all, scale,
                 std::string("Locus, page ") + page().title(), command);
}

NamedMatrix App::matrix_named(const std::string& region) {
    Ui ui(fonts_, theme_of(state_.theme), 1);
    ui.pooling = state_.pooling;
    const std::vector<NamedMatrix> matrices = page().numbers(scene_for(ui, page()));
    if (const NamedMatrix* found = find_matrix(matrices, region)) return *found;
    const std::string by = page().shown_by(region);
    if (!by.empty())
        throw Error(Fault::usage, "--region is \"" + region + "\", which the page " + page().name() +
                                      " has on screen with " + by + " alone, expected that beside it");
    std::string names = page().layer_trace(scene_for(ui, page())) ? ", layer (in .safetensors)" : "";
    for (const NamedMatrix& matrix : matrices) names += ", " + matrix.id;
    throw Error(Fault::usage, "--region is \"" + region + "\", which the page " + page().name() +
                                  " does not have, expected one of page, screen" + names);
}

void App::export_matrix(const ExportRequest& request, const std::string& command) {
    const NamedMatrix matrix = matrix_named(request.region);
    const MatrixFigure figure(matrix, state_.theme);
    const auto scale = static_cast<float>(request.pixels);
    Ui ui(fonts_, theme_of(state_.theme), scale);
    ui.pooling = state_.pooling;
    if (fonts_.update(scale)) window_.reload_fonts();
    ImVec2 size = figure.size(ui);
    if (fonts_.update(scale)) {  // its labels had characters that were missing
        window_.reload_fonts();
        size = figure.size(ui);
    }
    panels_.clear();
    const PictureSetup setup{static_cast<int>(size.x * scale), static_cast<int>(size.y * scale), scale,
                             request.transparent};
    const Aside drawn = draw_aside(setup, scale, [&](Ui& frame) {
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
        ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
        ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
        ImGui::Begin("Figure", nullptr,
                     ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground);
        ImGui::PopStyleVar(2);
        figure.draw(frame);
        ImGui::End();
    });
    write_figure(request, drawn, {0, 0, static_cast<float>(setup.width), static_cast<float>(setup.height)}, scale,
                 matrix.title, command);
}

void App::export_numbers(const ExportRequest& request, const std::string& command) {
    LOCUS_CHECK(request.region != "screen",
                "--region is \"screen\", which is a picture; numbers are of a page, a layer or one of its matrices");
    Ui ui(fonts_, theme_of(state_.theme), 1);
    ui.pooling = state_.pooling;
    const Scene scene = scene_for(ui, page());
    if (request.region == "layer") {
        LOCUS_CHECK(request.format() == ExportFormat::safetensors,
                    request.file.string() + ": a whole layer goes into .safetensors alone");
        const Trace* trace = page().layer_trace(scene);
        LOCUS_CHECK(trace && !trace->stages().empty(),
                    std::string("--region is \"layer\", but the page ") + page().name() + " shows no layer's trace");
        write_trace(request.file, *trace, {{"command", command}, {"software", program_version()}});
    } else if (request.region == "page") {
        write_numbers(request.file, page().numbers(scene), command);
    } else {
        write_numbers(request.file, {matrix_named(request.region)}, command);
    }
}

}  // namespace locus
