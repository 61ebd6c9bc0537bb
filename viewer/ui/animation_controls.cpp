#include "viewer/ui/animation_controls.h"

#include "viewer/plots/number_format.h"
#include "viewer/ui/ui.h"

namespace locus {

float draw_animation_controls(const Ui& ui, const char* id, float x, float y, float slider, Animation& animation,
                              double last, const std::string& shown, bool reduce_motion) {
    const Ui::Group group(ui, id);
    const auto place = [&](float width) {
        const Rect box{x, y - ui.px(10), x + ui.px(width), y + ui.px(10)};
        x = box.x1 + ui.px(4);
        return box;
    };
    const Rect play = place(26);
    if (ui.button("play", play, "")) toggle_animation(animation, last);
    draw_play_sign(ui, {play.middle_x(), play.middle_y()}, ui.px(9), animation.playing, ui.theme->text);
    if (ui.button("frame before", place(22), "\u2039")) step_animation(animation, -1, last);
    if (ui.button("frame after", place(22), "\u203a")) step_animation(animation, 1, last);
    x += ui.px(8);
    double at = animation.at;
    if (ui.slider("frame", x, y, slider, at, 0, last, reduce_motion ? 1 : 0.05)) {
        animation.at = at;
        animation.playing = false;
    }
    x += slider + ui.px(10);
    x += ui.text(x, y, shown, ui.theme->text, Face::mono_small) + ui.px(10);
    if (reduce_motion) {
        x += ui.text(x, y, "steps", ui.theme->muted, Face::label);
        return x;
    }
    const std::string speed = brief(animation.speed) + "\u00d7";
    if (ui.button("speed", place(44), speed)) next_animation_speed(animation);
    return x;
}

bool press_animation(Animation& animation, double last, const KeyPress& press) {
    if (press.key != Key::character || press.ctrl) return false;
    switch (press.character) {
        case 'p':
            toggle_animation(animation, last);
            return true;
        case 'n':
            step_animation(animation, 1, last);
            return true;
        case 'N':
            step_animation(animation, -1, last);
            return true;
        case 'v':
            next_animation_speed(animation);
            return true;
        default:
            return false;
    }
}

}  // namespace locus
