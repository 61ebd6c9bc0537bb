#include "tests/conformance/toy/mutation_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/run_program.h"

namespace locus::conformance::toy {

namespace {

const std::string kPage = std::string(LOCUS_SOURCE_DIR) + "/core/conformance/README.md";

PrintedTable read_table() {
    const std::string text = test::read_file(kPage);
    const std::size_t begin = text.find("<!-- table -->"), end = text.find("<!-- end of table -->");
    if (begin == std::string::npos || end == std::string::npos)
        throw Error(Fault::unreadable, kPage + ": no table of mistakes between its two marks");
    PrintedTable table;
    std::istringstream lines(text.substr(begin, end - begin));
    for (std::string line; std::getline(lines, line);) {
        if (line.size() > 2 && line.starts_with("| ") && std::isdigit(static_cast<unsigned char>(line[2])))
            table.rows.push_back(line);
        else if (line.find(" ways to make them") != std::string::npos)
            table.sum = line;
    }
    return table;
}

}  // namespace

std::string table_row(const Slip& slip, const std::string& what, const std::string& no_name,
                      const std::vector<Finding>& all) {
    LOCUS_CHECK(!all.empty(), "mistake " + std::to_string(slip.mistake) + " has no findings, expected one or more");
    const auto weight = [&](const Finding& each) {
        if (each.dump != "everything" || each.first.empty()) return 0;
        return each.named == slip.mistake ? 3 : each.named && names(each.named, slip) ? 2 : 1;
    };
    const Finding& best = *std::max_element(all.begin(), all.end(),
                                            [&](const Finding& a, const Finding& b) { return weight(a) < weight(b); });
    const std::string name = weight(best) == 3   ? "yes"
                             : weight(best) == 2 ? "as " + std::to_string(best.named)
                             : no_name.empty()   ? "no"
                                                 : "no: " + no_name;
    return "| " + std::to_string(slip.mistake) + " | " + what + " | " + best.where + " | `" + best.first + "` | " +
           name + " |";
}

std::string table_row(const KnownSlip& known, const std::vector<Finding>& all) {
    return table_row(known.slip, known.what, known.no_name, all);
}

const PrintedTable& printed_table() {
    static const PrintedTable table = read_table();
    return table;
}

void check_row(const std::string& row) {
    const auto& rows = printed_table().rows;
    INFO("this row belongs into the table of " << kPage << ":\n" << row);
    CHECK(std::count(rows.begin(), rows.end(), row) == 1);
}

}  // namespace locus::conformance::toy
