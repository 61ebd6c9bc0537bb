// Every head of every layer: its probabilities in the colour of the term that moves them most.
#include <algorithm>
#include <cmath>
#include <limits>

#include "viewer/pages/attention/attention.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/side_column.h"

namespace locus {

namespace {

constexpr const char* kMeasure =
    "Colour: the term that moves a head's attention most. A number added to a whole row changes nothing in the "
    "softmax, "
    "so what counts is how far a term strays from its own row mean; the bar below each head divides that among the "
    "terms. Each picture runs from 0 to its own largest probability.";

MapKind map_of(const TermShares& shares) {
    const auto term = dominant_term(shares);
    return term ? static_cast<MapKind>(static_cast<int>(MapKind::c2c) + static_cast<int>(*term)) : MapKind::sequential;
}

std::string percent(double share) { return fixed(100 * share, 0) + " %"; }

}  // namespace

void AttentionPage::refresh_heads(const Scene& scene) {
    const auto& overview = scene.answer->overview;
    if (overview_ == overview && overview_theme_ == scene.state.theme) return;
    overview_ = overview;
    overview_theme_ = scene.state.theme;
    ++overview_revision_;
    heads_.resize(overview->all.size());
    for (std::size_t n = 0; n < heads_.size(); ++n) {
        const HeadSummary& head = overview->all[n];
        const float largest = head.picture.maxCoeff();
        heads_[n].show({overview_revision_, static_cast<Index>(n), scene.state.theme}, head.picture, head.visible,
                       map_of(head.shares), ValueRange{0, largest > 0 ? static_cast<double>(largest) : 1.0},
                       Pooling::largest);
    }
}

void AttentionPage::draw_heads(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    const float y = inside.y0 + ui.px(8);
    const DebertaConfig& config = scene.session.config();
    const float title_end = inside.x0 + ui.text(inside.x0, y,
                                                several(config.num_hidden_layers, "layer") + " \u00d7 " +
                                                    several(config.num_attention_heads, "head"),
                                                theme.text, Face::title);
    float x = inside.x1;
    for (const int term : {2, 1, 0}) {
        x -= ui.text(x, y, kAttentionPanels[static_cast<std::size_t>(term)].title, theme.muted, Face::label,
                     Align::right) +
             ui.px(6);
        ui.fill({x - ui.px(9), y - ui.px(4), x, y + ui.px(4)}, term_colour(theme, term), 2);
        x -= ui.px(24);
    }
    if (!scene.answer->overview) {
        ui.text(inside.x0, y + ui.px(34), "computing every head \u2026", theme.muted);
        return;
    }
    refresh_heads(scene);
    const float words = ui.px(52), labels = ui.px(34), head_row = ui.px(18);
    const Rect grid{inside.x0 + labels, y + ui.px(16) + head_row, inside.x1, inside.y1 - words};
    const HeadGrid layout = arrange_heads(ui, grid);
    if (layout.height > grid.height() + 1 && title_end + ui.px(90) < x)
        ui.text(title_end + ui.px(14), y, "wheel scrolls", theme.muted, Face::mono_small);
    for (Index head = 0; head < overview_->heads && layout.across >= ui.px(18); ++head)
        ui.text(std::floor(grid.x0 + layout.across * static_cast<float>(head)) + layout.side / 2, grid.y0 - ui.px(11),
                std::to_string(head), head == scene.state.head ? theme.text : theme.muted, Face::mono_small,
                Align::centre);
    draw_grid_of_heads(scene, grid, layout);
    ui.text(grid.x0 - ui.px(10), grid.y0 - ui.px(11), "layer", theme.muted, Face::tiny, Align::right);
    ui.paragraph(inside.x0, inside.y1 - words + ui.px(8), inside.width(), kMeasure, theme.muted, Face::label);
}

/// All layers where their pictures are large enough to read, else a part of them that the wheel moves.
AttentionPage::HeadGrid AttentionPage::arrange_heads(const Ui& ui, const Rect& grid) const {
    const auto layers = static_cast<float>(overview_->layers);
    const float beside = ui.px(6), below = ui.px(12);  // room between two pictures
    HeadGrid layout;
    layout.across = grid.width() / static_cast<float>(overview_->heads);
    layout.down = grid.height() / layers;
    const float widest = layout.across - beside;
    if (layout.down - below < std::min(widest, ui.px(26))) layout.down = std::min(widest, ui.px(40)) + below;
    layout.height = layout.down * layers;
    layout.side = std::floor(std::max(ui.px(8), std::min(widest, layout.down - below)));
    // Beside each picture where a column is wider than it, else nowhere.
    layout.numbers = layout.across - layout.side >= ui.px(42);
    return layout;
}

void AttentionPage::draw_grid_of_heads(Scene& scene, const Rect& grid, const HeadGrid& layout) {
    const Ui& ui = scene.ui;
    const float most = std::max(0.0f, layout.height - grid.height());
    const float edge = ui.px(3);  // the outline of the chosen head
    const Rect seen{grid.x0 - ui.px(34), grid.y0 - edge, grid.x1 + edge, grid.y1 + edge};
    if (most > 0 && seen.holds(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered())
        heads_scroll_ -= Ui::scrolled_by(layout.down);
    if (followed_layer_ != scene.state.layer) {
        followed_layer_ = scene.state.layer;
        const float at = layout.down * static_cast<float>(scene.state.layer);
        heads_scroll_ = std::clamp(heads_scroll_, std::min(at, at + layout.down - grid.height()), at);
    }
    heads_scroll_ = std::clamp(heads_scroll_, 0.0f, most);

    ui.draw().push_clip(seen.min(), seen.max());
    {
        const Ui::Scrolled scrolled(ui);
        for (Index layer = 0; layer < overview_->layers; ++layer) {
            const float top = std::floor(grid.y0 - heads_scroll_ + layout.down * static_cast<float>(layer));
            if (top + layout.down < seen.y0 || top > seen.y1) continue;
            ui.text(grid.x0 - ui.px(10), top + layout.side / 2, std::to_string(layer),
                    layer == scene.state.layer ? ui.theme->text : ui.theme->muted, Face::mono_small, Align::right);
            for (Index head = 0; head < overview_->heads; ++head) {
                const float left = std::floor(grid.x0 + layout.across * static_cast<float>(head));
                draw_one_head(scene, {left, top, left + layout.side, top + layout.side}, seen, layer, head,
                              layout.numbers);
            }
        }
    }
    ui.draw().pop_clip();
    draw_scroll_bar(ui, {grid.x0, grid.y0, grid.x1 + ui.px(12), grid.y1}, layout.height, heads_scroll_);
}

void AttentionPage::draw_one_head(Scene& scene, const Rect& picture, const Rect& seen, Index layer, Index head,
                                  bool numbers) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const HeadSummary& summary = overview_->at(layer, head);
    const Ui::Group group(ui, ("layer " + std::to_string(layer)).c_str());
    // What stands beyond the edge of the grid is not there for the mouse.
    const Rect box{picture.x0, std::clamp(picture.y0, seen.y0, seen.y1), picture.x1,
                   std::clamp(picture.y1 + ui.px(6), seen.y0, seen.y1)};
    const Touch mouse = ui.touch(("head " + std::to_string(head)).c_str(), box);
    heads_[static_cast<std::size_t>(layer * overview_->heads + head)].draw(ui, picture);
    float x = picture.x0;
    const auto dominant = dominant_term(summary.shares);
    for (std::size_t term = 0; dominant && term < 3; ++term) {
        const float wide = picture.width() * static_cast<float>(summary.shares[term]);
        ui.fill({x, picture.y1 + ui.px(2), x + wide, picture.y1 + ui.px(5)},
                term_colour(*ui.theme, static_cast<int>(term)));
        x += wide;
    }
    if (numbers && dominant)
        ui.text(picture.x1 + ui.px(6), picture.y0 + ui.px(7), percent(summary.shares[*dominant]),
                term_colour(*ui.theme, static_cast<int>(*dominant)), Face::mono_small);
    const bool current = layer == state.layer && head == state.head;
    if (current || mouse.hovered)
        ui.outline(picture.inset(-ui.px(2), -ui.px(2)), current ? ui.theme->text : ui.theme->muted, 2, 2);
    if (mouse.hovered) describe_head(scene, layer, head);
    if (!mouse.clicked) return;
    state.layer = layer;
    state.head = head;
    state.attention.picture = AttentionPicture::head;
}

void AttentionPage::describe_head(const Scene& scene, Index layer, Index head) const {
    const Theme& theme = *scene.ui.theme;
    const HeadSummary& summary = overview_->at(layer, head);
    std::vector<std::vector<Span>> lines = {
        {{"layer " + std::to_string(layer) + ", head " + std::to_string(head), theme.text}}};
    if (!dominant_term(summary.shares))
        lines.push_back({{"nothing moves this head: every row has one key", theme.muted}});
    else
        for (std::size_t term = 0; term < 3; ++term)
            lines.push_back({{kAttentionPanels[term].title, term_colour(theme, static_cast<int>(term))},
                             {"  " + percent(summary.shares[term]), theme.text, Face::mono}});
    lines.push_back({{"largest probability  ", theme.muted},
                     {fixed(static_cast<double>(summary.picture.maxCoeff()), 3), theme.text, Face::mono}});
    lines.push_back({{"click opens this head", theme.muted, Face::label}});
    draw_tooltip(scene.ui, lines);
}

// By distance: how strong each term is, or which part of what moves the attention is its own.

void AttentionPage::draw_curves(Scene& scene, const Rect& cells) {
    const Ui& ui = scene.ui;
    AttentionState& state = scene.state.attention;
    const bool shares = state.curve == 1;
    const float y = cells.y0 - ui.px(14);
    float x = cells.x0;
    const char* names[] = {"strength", "share"};
    for (std::size_t n = 0; n < 2; ++n) {
        const float width = ui.text_width(names[n], Face::title);
        const Touch mouse = ui.touch((std::string("curve ") + names[n]).c_str(),
                                     {x - ui.px(3), y - ui.px(10), x + width + ui.px(3), y + ui.px(10)});
        if (mouse.clicked) state.curve = n;
        const bool chosen = state.curve == n;
        ui.text(x, y, names[n], chosen || mouse.hovered ? ui.theme->text : ui.theme->muted, Face::title);
        if (chosen) ui.fill({x, y + ui.px(8), x + width, y + ui.px(9)}, ui.theme->muted);
        x += width + ui.px(12);
    }
    // Where both do not fit, what the numbers are goes first: that they are by distance is also said below.
    const char* note = shares ? "|term \u2212 row mean|" : "mean |term|";
    if (cells.x1 - x > ui.text_width("by distance", Face::title) + ui.text_width(note, Face::mono_small) + ui.px(12))
        ui.text(x - ui.px(2), y, "by distance", ui.theme->text, Face::title);
    ui.text_within(cells.x1, y, cells.x1 - x, note, ui.theme->muted, Face::mono_small, Align::right);

    LinePlot plot;
    plot.first_x = 1 - static_cast<double>(scene.answer->length());
    plot.x_name = "i \u2212 j";
    plot.marked_x = static_cast<double>(scene.state.cell.i - scene.state.cell.j);
    plot.high = shares ? 100 : 0;
    if (shares) plot.unit = "%";
    for (std::size_t n = 0; n < strength_.size(); ++n) {
        if (!present_[n]) continue;
        std::vector<double> values = shares ? share_[n] : strength_[n];
        for (double& value : values) {
            if (shares) value *= 100;
            if (!shares && std::isfinite(value)) plot.high = std::max(plot.high, value * 1.06);
        }
        const bool kept = is_kept(kept_terms(scene), n);
        const ImU32 colour = term_colour(*ui.theme, static_cast<int>(n));
        plot.curves.push_back(
            {std::move(values), kept ? colour : faded(colour, 0.35f),
             std::string(kAttentionPanels[n].title) + (shares ? ", percent" : "") + (kept ? "" : ", dropped"), !kept});
    }
    if (plot.high == 0) plot.high = 1;
    draw_line_plot(ui, "strength", {cells.x0 - ui.px(4), cells.y0, cells.x1, cells.y1 + ui.px(3)}, plot);
    ui.text(cells.x1, cells.y1 + ui.px(17), "to the right \u2190 i \u2212 j \u2192 to the left", ui.theme->muted,
            Face::mono_small, Align::right);
}

// The same numbers for other programs.

namespace {

/// A column for each term, named as the stage is.
NamedMatrix sheet_of_terms(const std::string& id, const std::string& title, const Matrix<double>& values,
                           std::vector<std::string> rows) {
    NamedMatrix sheet = named_matrix(id, title, id, values);
    sheet.rows = std::move(rows);
    for (Index n = 0; n < values.cols(); ++n) sheet.cols.push_back(kAttentionPanels[static_cast<std::size_t>(n)].stem);
    return sheet;
}

}  // namespace

NamedMatrix AttentionPage::by_distance(const std::string& id, const std::string& title,
                                       const std::array<std::vector<double>, 3>& curves) {
    std::size_t longest = 0;
    for (const std::vector<double>& curve : curves) longest = std::max(longest, curve.size());
    const auto distances = static_cast<Index>(longest);
    // A term that the model has not keeps its column, of no numbers.
    Matrix<double> values = Matrix<double>::Constant(distances, 3, std::numeric_limits<double>::quiet_NaN());
    std::vector<std::string> rows;
    for (Index d = 0; d < distances; ++d) rows.push_back(std::to_string(d - distances / 2));
    for (std::size_t n = 0; n < curves.size(); ++n)
        for (std::size_t d = 0; d < curves[n].size(); ++d)
            values(static_cast<Index>(d), static_cast<Index>(n)) = curves[n][d];
    return sheet_of_terms(id, title, values, std::move(rows));
}

NamedMatrix AttentionPage::shares_of(const Overview& overview) {
    Matrix<double> values(overview.layers * overview.heads, 3);
    std::vector<std::string> rows;
    for (Index layer = 0; layer < overview.layers; ++layer)
        for (Index head = 0; head < overview.heads; ++head) {
            const TermShares& shares = overview.at(layer, head).shares;
            for (std::size_t n = 0; n < shares.size(); ++n)
                values(layer * overview.heads + head, static_cast<Index>(n)) = shares[n];
            rows.push_back("layer " + std::to_string(layer) + ", head " + std::to_string(head));
        }
    return sheet_of_terms("shares", "share of each term, head by head", values, std::move(rows));
}

}  // namespace locus
