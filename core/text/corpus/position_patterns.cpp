// Every word that is drawn stands at least twice in most patterns, so that what is masked can be told from the rest by
// whoever knows the order; the parts come in changing order, so that counting words does not do.
#include "core/text/corpus/position_grammar.h"

namespace locus {

const std::vector<std::string>& position_patterns() {
    static const std::vector<std::string> patterns = {
        // Which of the two is the new one?
        "a {new s} {building x} opened {beside r} the {new t} {building y}, so the {building x} is {new s} and the "
        "{building y} is {new t}.",
        "a new {building x} opened {beside r} the new {building y}. people left the {building y} and went to the "
        "{building x}.",
        "the {building x} is {beside r} the {building y}, so the {building y} is {beside r} the {building x}.",
        "the {building x} is {north d} of the {building y}, so the {building y} is {south d} of the {building x}.",
        // Who has what?
        "{name a} gave the {thing g} to {name b}, and {name b} gave the {thing g} to {name c}, so the {thing g} went "
        "from {name a} to {name c}.",
        "{name a} gave the {thing g} to {name b} and the {thing h} to {name c}. {name b} thanked {name a} for the "
        "{thing g}, and {name c} thanked {name a} for the {thing h}.",
        "{name a} gave the {thing g} to {name b} and the {thing h} to {name c}, so [{name b} has the {thing g} and "
        "{name c} has the {thing h}|{name c} has the {thing h} and {name b} has the {thing g}].",
        "{name a} asked {name b} for the {thing g}, and {name b} gave the {thing g} to {name a}.",
        "{name a} has the {thing g} and {name b} has the {thing h}. they swap, so {name a} has the {thing h} and "
        "{name b} has the {thing g}.",
        "{name a} took the {thing g} from {name b}, so {name a} has the {thing g} and {name b} lost the {thing g}.",
        // Who is where?
        "{name a} carried the {thing g} to the {room r}, and {name b} carried the {thing h} to the {room s}, so [the "
        "{thing g} is in the {room r} with {name a} and the {thing h} is in the {room s} with {name b}|the {thing h} "
        "is in the {room s} with {name b} and the {thing g} is in the {room r} with {name a}].",
        "{name a} walked to the {room r} and {name b} walked to the {room s}, so [{name a} is in the {room r} and "
        "{name b} is in the {room s}|{name b} is in the {room s} and {name a} is in the {room r}].",
        "{name a} went from the {room r} to the {room s} and then to the {room t}, so {name a} began in the {room r} "
        "and ended in the {room t}.",
        "{name a} told {name b} that {name c} was in the {room r}, so {name b} went to the {room r} and found "
        "{name c}.",
        "the {colour x} {thing g} is in the {room r} and the {colour y} {thing h} is in the {room s}, so in the "
        "[{room r} there is a {colour x} {thing g}|{room s} there is a {colour y} {thing h}].",
        // Which is on which side?
        "the {piece x} is to the {left d} of the {piece y}, so the {piece y} is to the {right d} of the {piece x}.",
        "the {piece x} is {above d} the {piece y}, so the {piece y} is {below d} the {piece x}.",
        "the {piece x} is {left d} of the {piece y} and the {piece y} is {left d} of the {piece z}, so the {piece x} "
        "is {left d} of the {piece z}.",
        "the {piece x} is {above d} the {piece y} and the {piece y} is {above d} the {piece z}, so the {piece z} is "
        "{below d} the {piece x}.",
        "{name b} sat between {name a} and {name c}, so {name a} sat on one side of {name b} and {name c} on the "
        "other.",
        // In which order?
        "{name a}, {name b} and {name c} stood in a row. [the first was {name a}, the second was {name b} and the "
        "last was {name c}|{name b} stood between {name a} and {name c}|the last was {name c} and the first was "
        "{name a}].",
        "{name a} came before {name b} and {name b} came before {name c}, so {name a} was first and {name c} was last.",
        "{name a} came after {name b} and {name b} came after {name c}, so {name c} was first and {name a} was last.",
        "{name a} {slept v} before {name b} {slept w}, so {name b} {slept w} after {name a} {slept v}.",
        "{name a} came on {day d} and {name b} came on {day d+1}, so {name a} came the day before {name b}.",
        "{name a} left on {day d}, and the day [after was {day d+1}|before was {day d-1}], so {name a} was gone on "
        "{day d}.",
        "{name a} counts up: {number n}, {number n+1}, {number n+2}, {number n+3}. {name b} counts down: {number m}, "
        "{number m-1}, {number m-2}, {number m-3}.",
        "{name a} counts in twos from {number n}: {number n}, {number n+2}, {number n+4}, {number n+6}.",
        "read {colour x} {colour y} {colour z} from the end and it is {colour z} {colour y} {colour x}.",
        "read {thing x} {thing y} {thing z} from the end and it is {thing z} {thing y} {thing x}.",
        // What belongs to what?
        "the {colour x} {thing g} and the {colour y} {thing h} are here, so [the {thing g} is {colour x} and the "
        "{thing h} is {colour y}|the {thing h} is {colour y} and the {thing g} is {colour x}].",
        "the {thing g} of {name a} is {colour x} and the {thing g} of {name b} is {colour y}, so {name a} owns the "
        "{colour x} {thing g} and {name b} owns the {colour y} {thing g}.",
        "{name a} wears {colour x} and {name b} wears {colour y}, so the one in {colour y} is {name b} and the one in "
        "{colour x} is {name a}.",
        "{many n} {animals x} met {many m} {animals y}, so there were {many n} {animals x} and {many m} {animals y}.",
        // Which noun does the verb follow?
        "the {animal x} near the {animals y} is {hungry m}, but the {animals y} near the {animal x} are not "
        "{hungry m}.",
        "the {animals x} near the {animal y} are {hungry m}, but the {animal y} near the {animals x} is not "
        "{hungry m}.",
        "the {animal x} behind the {animals y} {runs v} and the {animals y} before the {animal x} {run w}, so the "
        "{animal x} {runs v}.",
        "the {animals x} behind the {animal y} {run v} and the {animal y} before the {animals x} {runs w}, so the "
        "{animals x} {run v}.",
        // Who did it to whom?
        "the {animal x} {chased v} the {animal y}, so the {animal y} was {chased v} by the {animal x}.",
        "the {animal x} was {chased v} by the {animal y}, so the {animal y} {chased v} the {animal x}.",
        "{name a} {chased v} {name b} and {name b} {chased w} {name c}, so {name c} was {chased w} by {name b} and "
        "{name b} was {chased v} by {name a}.",
        "{name a} is {taller t} than {name b}, so {name b} is {shorter t} than {name a}.",
        "{name a} is {taller t} than {name b} and {name b} is {taller t} than {name c}, so {name c} is {shorter t} "
        "than {name a}.",
        "the {animal x} is {taller t} than the {animal y} and the {animal y} is {taller t} than the {animal z}, so "
        "the {animal x} is {taller t} than the {animal z}.",
    };
    return patterns;
}

}  // namespace locus
