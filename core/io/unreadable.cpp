#include "core/io/unreadable.h"

#include "core/io/printable.h"

namespace locus {

void throw_unreadable(const std::string& place, const std::string& what, Fault fault) {
    throw Error(fault, printable(place) + ": " + printable(what));
}

}  // namespace locus
