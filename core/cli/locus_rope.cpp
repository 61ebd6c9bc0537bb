// locus rope: the angles of rotary positions, and how far their bound falls with distance.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "core/cli/program.h"
#include "core/positions/rope_scaling.h"
#include "core/positions/rotary.h"
#include "core/text/text_table.h"

namespace {

using namespace locus;
using Json = nlohmann::ordered_json;

struct Options {
    Index width = 64, length = 0, distances = 513;
    double base = 10000;
    std::string scaling = "none";
    bool json = false, csv = false;
};

struct Curves {
    RopeFrequencies frequencies;
    std::vector<double> wavelength;   // tokens per full rotation
    std::vector<double> bound, ones;  // per distance
};

Curves compute(const Options& options) {
    Curves curves;
    curves.frequencies =
        rope_frequencies(options.width, parse_rope_scaling(options.scaling, options.base), options.length);
    const std::vector<double>& theta = curves.frequencies.theta;
    for (const double theta_t : theta) curves.wavelength.push_back(2 * std::numbers::pi / theta_t);
    for (Index r = 0; r < options.distances; ++r) curves.bound.push_back(decay_bound(theta, static_cast<double>(r)));
    // YaRN's factor multiplies sine and cosine, so a score has its square.
    const double factor = curves.frequencies.attention_factor * curves.frequencies.attention_factor;
    const RowVector<double> ones = RowVector<double>::Ones(options.width);
    for (const double score : score_curve(ones, ones, theta, RotaryLayout::interleaved, options.distances))
        curves.ones.push_back(score * factor / static_cast<double>(options.width));
    return curves;
}

Json as_json(const Options& options, const Curves& curves) {
    Json decay = Json::array();
    for (std::size_t r = 0; r < curves.bound.size(); ++r)
        decay.push_back({{"distance", r}, {"bound", curves.bound[r]}, {"ones", curves.ones[r]}});
    return {{"d", options.width},
            {"base", options.base},
            {"scaling", options.scaling},
            {"attention_factor", curves.frequencies.attention_factor},
            {"theta", curves.frequencies.theta},
            {"wavelength", curves.wavelength},
            {"decay", decay}};
}

/// One series after the other: theta and wavelength over the plane, bound and ones over the distance.
std::string as_csv(const Curves& curves) {
    std::string text = "series,at,value\n";
    const auto add = [&](const char* series, const std::vector<double>& values) {
        for (std::size_t n = 0; n < values.size(); ++n) {
            char line[80];
            std::snprintf(line, sizeof line, "%s,%zu,%.17g\n", series, n, values[n]);
            text += line;
        }
    };
    add("theta", curves.frequencies.theta);
    add("wavelength", curves.wavelength);
    add("bound", curves.bound);
    add("ones", curves.ones);
    return text;
}

std::string as_tables(const Options& options, const Curves& curves) {
    std::vector<std::vector<std::string>> planes = {{"pair", "theta", "wavelength, tokens"}};
    for (std::size_t t = 0; t < curves.wavelength.size(); ++t)
        planes.push_back(
            {std::to_string(t), format_number(curves.frequencies.theta[t]), format_number(curves.wavelength[t])});
    std::vector<std::vector<std::string>> distances = {{"distance", "bound B(r)", "q = k = ones, / d"}};
    for (const std::size_t r : {0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 250, 500, 1000, 2000, 5000})
        if (r < curves.bound.size())
            distances.push_back({std::to_string(r), format_number(curves.bound[r]), format_number(curves.ones[r])});
    return "d " + std::to_string(options.width) + ", base " + format_number(options.base) + ", scaling " +
           options.scaling + ", attention factor of yarn " + format_number(curves.frequencies.attention_factor) +
           "\n\n" + text_table(planes, {true, true, true}) + "\n" + text_table(distances, {true, true, true});
}

}  // namespace

int main(int argc, char** argv) {
    cli::Command program(
        "Prints the angles of rotary positions and their long-term decay.\n"
        "  locus rope --d 64\n"
        "  locus rope --d 64 --scaling yarn,4,2048 --csv\n"
        "bound: the paper's B(r), independent of q and k; it is not monotone.  ones: the score of q = k = (1, ..., "
        "1),\n"
        "divided by d.  csv: series,at,value with the series theta, wavelength, bound, ones.",
        "locus rope");
    Options options;
    program.option("--d", options.width, "head width, an even number").shows_default();
    program.option("--base", options.base, "base of the angles").shows_default();
    program
        .option("--scaling", options.scaling,
                "none, linear,S, ntk,S, dynamic,S,LENGTH or yarn,S,LENGTH; S: how many times longer the text may be, "
                "LENGTH: tokens in training")
        .shows_default();
    program.option("--length", options.length, "tokens of the text; only dynamic looks at it").within(0, 100000000);
    program.option("--distances", options.distances, "how many distances, from 0").within(1, 1000000).shows_default();
    const cli::Option json = program.flag("--json", options.json, "print JSON");
    program.flag("--csv", options.csv, "print CSV").excludes(json);
    return cli::run_program(program, argc, argv, [&] {
        LOCUS_CHECK(options.width > 0 && options.width % 2 == 0 && options.width <= 65536,
                    "--d is " + std::to_string(options.width) +
                        ", expected an even number up to 65536: channels are rotated in pairs");
        const Curves curves = compute(options);
        if (options.json)
            std::cout << as_json(options, curves).dump(2) << '\n';
        else
            std::cout << (options.csv ? as_csv(curves) : as_tables(options, curves));
        return 0;
    });
}
