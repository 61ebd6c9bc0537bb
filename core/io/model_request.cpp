#include "core/io/model_request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "core/io/input_file.h"
#include "core/io/safetensors.h"

namespace locus {

namespace {

IndexTensor parse_list(const std::string& option, const std::string& text) {
    std::vector<std::int64_t> values;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        std::int64_t value = 0;
        const char* end = text.data() + comma;
        const auto result = std::from_chars(text.data() + from, end, value);
        LOCUS_CHECK(result.ec == std::errc{} && result.ptr == end && comma > from,
                    option + " is \"" + text + "\", expected whole numbers separated by commas");
        values.push_back(value);
        from = comma + 1;
    }
    const auto count = static_cast<Index>(values.size());
    return {{1, count}, std::move(values)};
}

/// Where the tokens are [MASK], if the folder's tokenizer has one.
IndexTensor find_masks(const IndexTensor& tokens, std::optional<std::int64_t> mask_id) {
    std::vector<std::int64_t> places;
    for (Index n = 0; mask_id && n < tokens.size(); ++n)
        if (tokens[n] == *mask_id) {
            places.push_back(n / tokens.extent(1));
            places.push_back(n % tokens.extent(1));
        }
    const auto count = static_cast<Index>(places.size() / 2);
    return count == 0 ? IndexTensor() : IndexTensor({count, 2}, std::move(places));
}

/// The field that a name of an input file means; nullptr for a name that no family knows.
IndexTensor* field_of(ModelInput& input, const std::string& name) {
    return name == "tokens"           ? &input.tokens
           : name == "mask"           ? &input.mask
           : name == "token_types"    ? &input.token_types
           : name == "labels"         ? &input.labels
           : name == "perm_mask"      ? &input.perm_mask
           : name == "target_mapping" ? &input.target_mapping
           : name == "input_mask"     ? &input.input_mask
                                      : nullptr;
}

/// Number after the last dot of "tokens.2"; -1 where there is none.
Index number_behind(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    Index number = -1;
    if (dot == std::string::npos) return -1;
    const auto result = std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
    return result.ec == std::errc{} && result.ptr == name.data() + name.size() ? number : -1;
}

constexpr Index kMostSegments = 100000, kMostLayers = 10000;

/// Places a tensor into its segment or memory and says which, "tokens.0" for "tokens" too; nothing for one that this
/// family does not use.
std::optional<std::string> place_tensor(const TensorEntry& entry, const std::vector<std::string>& used,
                                        std::vector<ModelInput>& segments) {
    const Index number = number_behind(entry.name);
    const std::string name = entry.name.substr(0, number < 0 ? entry.name.size() : entry.name.rfind('.'));
    if (std::find(used.begin(), used.end(), name) == used.end()) return std::nullopt;
    const auto at = static_cast<std::size_t>(std::max<Index>(0, number));
    if (name == "memory") {
        if (number < 0 || number >= kMostLayers) return std::nullopt;
        auto& memories = segments.front().memories;
        memories.resize(std::max(memories.size(), at + 1));
        memories[at] = read_tensor<double>(entry);
    } else {
        if (number >= kMostSegments) return std::nullopt;
        segments.resize(std::max(segments.size(), at + 1));
        *field_of(segments[at], name) = read_tensor<std::int64_t>(entry);
    }
    return name + "." + std::to_string(at);
}

PreparedInput read_input_file(const std::string& path, const std::vector<std::string>& used) {
    PreparedInput prepared;
    prepared.segments.resize(1);
    const TensorFile file = open_safetensors(path);
    std::map<std::string, std::string> placed;  // "tokens.0" -> as the file writes it: tokens, tokens.0 or tokens.00
    for (const TensorEntry& entry : file.entries) {
        const std::optional<std::string> place = place_tensor(entry, used, prepared.segments);
        if (!place) {
            prepared.ignored.push_back(entry.name);
            continue;
        }
        const auto [other, is_new] = placed.emplace(*place, entry.name);
        if (!is_new)
            throw_unreadable(path,
                             "holds both " + other->second + " and " + entry.name + ", which stand for the same input");
    }
    for (std::size_t s = 0; s < prepared.segments.size(); ++s) {
        const std::string name = prepared.segments.size() == 1 ? "tokens" : "tokens." + std::to_string(s);
        if (prepared.segments[s].tokens.rank() != 2)
            throw Error(Fault::unreadable,
                        path + ": " + (file.find(name) ? name + " is not [B, T]" : "no tensor named " + name));
    }
    return prepared;
}

/// The tokenizer's mask id, or nothing where a folder has no tokenizer that Locus reads.
std::optional<std::int64_t> mask_id_of(const std::filesystem::path& folder) {
    try {
        return open_tokenizer(folder)->mask_id();
    } catch (const Error& error) {
        if (error.fault() == Fault::unsupported) return std::nullopt;
        throw;
    }
}

/// "[MASK]" and "[SEP]" are how people write them; the tokenizer may call them "<mask>" and "<sep>".
std::string with_own_name(std::string text, const std::string& written, const Tokenizer& tokenizer,
                          std::optional<std::int64_t> id) {
    if (!id) return text;
    const std::string own = tokenizer.piece(*id);
    for (std::size_t at = text.find(written); own != written && at != std::string::npos;
         at = text.find(written, at + own.size()))
        text.replace(at, written.size(), own);
    return text;
}

constexpr const char* kWhiteSpace = " \t\r\n";

/// The texts on both sides of the one separator, without the blanks beside it; nothing where there is not one alone, or
/// no word on one side.
std::optional<std::pair<std::string, std::string>> pair_of(const std::string& text, const Tokenizer& tokenizer) {
    if (!tokenizer.separator_id()) return std::nullopt;
    const std::string separator = tokenizer.piece(*tokenizer.separator_id());
    const std::size_t at = text.find(separator);
    if (at == std::string::npos || text.find(separator, at + separator.size()) != std::string::npos)
        return std::nullopt;
    const std::string before = text.substr(0, at), behind = text.substr(at + separator.size());
    const std::size_t end = before.find_last_not_of(kWhiteSpace), start = behind.find_first_not_of(kWhiteSpace);
    if (end == std::string::npos || start == std::string::npos) return std::nullopt;
    return {{before.substr(0, end + 1), behind.substr(start)}};
}

/// A mask is cut out of its text, so SentencePiece sees "." begin anew and puts a lone mark of a word in front of it.
/// XLNet was trained with words standing there: the mark after a mask goes where the text has no blank.
void join_behind_masks(Tokens& tokens, const std::string& text, const Tokenizer& tokenizer) {
    if (!tokenizer.mask_id()) return;
    const std::string mask = tokenizer.piece(*tokenizer.mask_id());
    std::size_t at = text.find(mask);
    for (std::size_t n = 0; n + 1 < tokens.ids.size(); ++n) {
        if (tokens.ids[n] != *tokenizer.mask_id() || at == std::string::npos) continue;
        const std::size_t behind = at + mask.size();
        const bool joined = behind < text.size() && std::string(kWhiteSpace).find(text[behind]) == std::string::npos;
        if (joined && tokens.pieces[n + 1] == "\u2581") {
            const auto mark = static_cast<std::ptrdiff_t>(n) + 1;
            tokens.ids.erase(tokens.ids.begin() + mark);
            tokens.pieces.erase(tokens.pieces.begin() + mark);
            tokens.special.erase(tokens.special.begin() + mark);
            tokens.behind.erase(tokens.behind.begin() + mark);
            tokens.types.erase(tokens.types.begin() + mark);
        }
        at = text.find(mask, behind);
    }
}

/// Where the pieces of a word stand in the text.
std::vector<Index> find_word(const ModelInput& input, const std::string& word, const Tokenizer& tokenizer) {
    const Tokens encoded = tokenizer.encode(word);
    std::vector<std::int64_t> pieces;
    for (std::size_t n = 0; n < encoded.ids.size(); ++n)
        if (!encoded.special[n]) pieces.push_back(encoded.ids[n]);
    const auto& tokens = input.tokens.values();
    const auto found = std::search(tokens.begin(), tokens.end(), pieces.begin(), pieces.end());
    LOCUS_CHECK(!pieces.empty() && found != tokens.end(),
                "--order names \"" + word + "\", expected words of the text separated by commas");
    std::vector<Index> places;
    for (std::size_t n = 0; n < pieces.size(); ++n) places.push_back(found - tokens.begin() + static_cast<Index>(n));
    return places;
}

/// The family of the folder's model, because XLNet reads a text otherwise than its tokenizer alone.  A folder may hold
/// a tokenizer without a model, or that of a model which Locus does not run.
Family family_in(const std::filesystem::path& folder) {
    try {
        const Checkpoint checkpoint = open_config(folder);
        return family_of(checkpoint.config_json, checkpoint.config_file.string());
    } catch (const Error&) {
        return Family::deberta;
    }
}

}  // namespace

std::string with_own_names(const std::string& text, const Tokenizer& tokenizer) {
    return with_own_name(with_own_name(text, "[MASK]", tokenizer, tokenizer.mask_id()), "[SEP]", tokenizer,
                         tokenizer.separator_id());
}

Tokens encode_text(const std::string& text, const Tokenizer& tokenizer, Family family) {
    LOCUS_CHECK(text.find_first_not_of(kWhiteSpace) != std::string::npos,
                "the text is empty, expected at least one word");
    const std::string own = with_own_names(text, tokenizer);
    const auto pair = pair_of(own, tokenizer);
    Tokens tokens = pair ? tokenizer.encode_pair(pair->first, pair->second) : tokenizer.encode(own);
    if (family == Family::xlnet) join_behind_masks(tokens, own, tokenizer);
    return tokens;
}

Tokens tokens_read(const Tokenizer& tokenizer, const std::filesystem::path& folder, const std::string& text,
                   const std::optional<std::string>& second) {
    if (second) return tokenizer.encode_pair(with_own_names(text, tokenizer), with_own_names(*second, tokenizer));
    if (text.find_first_not_of(kWhiteSpace) == std::string::npos) return tokenizer.encode(text);
    return encode_text(text, tokenizer, family_in(folder));
}

TokenTypes token_types_for(const Checkpoint& checkpoint, Family family) {
    if (family != Family::xlnet) return TokenTypes::of_pairs;
    for (const char* head : {"logits_proj.weight", "classifier.weight", "qa_outputs.weight"})
        if (checkpoint.weights->shape(head)) return TokenTypes::always;
    return TokenTypes::of_pairs;
}

ModelInput input_of_texts(const std::vector<std::string>& texts, const Tokenizer& tokenizer, Family family,
                          TokenTypes types) {
    std::vector<Tokens> encoded;
    std::size_t longest = 0;
    bool typed = types == TokenTypes::always;
    for (const std::string& text : texts) {
        encoded.push_back(encode_text(text, tokenizer, family));
        longest = std::max(longest, encoded.back().ids.size());
        typed = typed || encoded.back().pair;
    }
    for (const Tokens& tokens : encoded)
        LOCUS_CHECK(tokens.ids.size() == longest || tokenizer.pad_id(),
                    "the texts have " + std::to_string(tokens.ids.size()) + " and " + std::to_string(longest) +
                        " tokens and the model has no padding token, expected texts of one length");
    const Shape shape = {static_cast<Index>(texts.size()), static_cast<Index>(longest)};
    ModelInput input;
    input.tokens = IndexTensor(shape);
    IndexTensor mask(shape);
    if (typed) input.token_types = IndexTensor(shape);
    const std::int64_t type_of_padding = family == Family::xlnet ? 3 : 0;
    bool padded = false;
    for (std::size_t b = 0; b < encoded.size(); ++b) {
        const std::vector<std::int64_t>& ids = encoded[b].ids;
        const std::size_t pads = longest - ids.size(), first = tokenizer.pads_left() ? pads : 0;
        for (std::size_t t = 0; t < longest; ++t) {
            const bool real = t >= first && t < first + ids.size();
            const auto at = static_cast<Index>(b * longest + t);
            input.tokens[at] = real ? ids[t - first] : *tokenizer.pad_id();
            mask[at] = real;
            if (typed) input.token_types[at] = real ? encoded[b].types[t - first] : type_of_padding;
        }
        padded = padded || pads > 0;
    }
    if (padded) input.mask = mask;
    input.mask_positions = find_masks(input.tokens, tokenizer.mask_id());
    if (family == Family::xlnet) predict_masks(input);
    return input;
}

std::vector<ModelInput> cut_segments(const ModelInput& input, Index length) {
    LOCUS_CHECK(length >= 1, "--segment is " + std::to_string(length) + ", expected 1 or more tokens");
    LOCUS_CHECK(input.batch() == 1, "--segment goes with one text, found " + std::to_string(input.batch()));
    LOCUS_CHECK(
        input.mask.empty() && input.target_mapping.empty() && input.perm_mask.empty() && input.input_mask.empty(),
        "--segment goes with plain text, expected no mask and no [MASK]");
    const auto check_like_tokens = [&](const IndexTensor& values, const char* what) {
        LOCUS_CHECK(values.empty() || values.shape() == input.tokens.shape(),
                    std::string("--segment: ") + what + " has shape " + to_string(values.shape()) + ", expected " +
                        to_string(input.tokens.shape()) + " like tokens");
    };
    check_like_tokens(input.labels, "labels");
    check_like_tokens(input.token_types, "token_types");
    std::vector<ModelInput> segments;
    for (Index first = 0; first < input.length(); first += length) {
        const Index count = std::min(length, input.length() - first);
        const auto part = [&](const IndexTensor& whole) {
            if (whole.empty()) return IndexTensor();
            return IndexTensor({1, count}, {whole.data() + first, whole.data() + first + count});
        };
        ModelInput segment;
        segment.tokens = part(input.tokens);
        segment.labels = part(input.labels);
        segment.token_types = part(input.token_types);
        if (first == 0) segment.memories = input.memories;
        std::vector<std::int64_t> places;
        for (Index n = 0; n + 1 < input.mask_positions.size(); n += 2)
            if (const Index token = input.mask_positions[n + 1]; token >= first && token < first + count)
                places.insert(places.end(), {0, token - first});
        if (!places.empty()) {
            const auto rows = static_cast<Index>(places.size() / 2);
            segment.mask_positions = IndexTensor({rows, 2}, std::move(places));
        }
        segments.push_back(std::move(segment));
    }
    return segments;
}

std::string about_ignored(const PreparedInput& prepared, const std::string& file,
                          const std::vector<std::string>& input_names) {
    const auto joined = [](const std::vector<std::string>& words) {
        std::string text;
        for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
        return text;
    };
    if (prepared.ignored.empty()) return "";
    return file + ": not used by this family: " + printable(joined(prepared.ignored)) + "; it reads " +
           joined(input_names);
}

PreparedInput prepare_input(const ModelRequest& request, const std::filesystem::path& folder, Family family,
                            const std::vector<std::string>& input_names, TokenTypes types) {
    const int given = int{!request.texts.empty()} + int{!request.tokens.empty()} + int{!request.input_file.empty()};
    LOCUS_CHECK(given == 1, "expected exactly one of --text, --tokens and --input, found " + std::to_string(given));
    LOCUS_CHECK(request.mask.empty() || !request.tokens.empty(), "--mask goes with --tokens only");
    const bool takes_mask = std::any_of(input_names.begin(), input_names.end(),
                                        [](const std::string& name) { return name.ends_with("mask"); });
    if (!request.mask.empty() && !takes_mask)
        throw Error(Fault::unsupported, std::string("--mask is not used by a ") + to_string(family) +
                                            ", which hides nothing but the future; leave it out");
    LOCUS_CHECK(request.labels.empty() || !request.tokens.empty(), "--labels goes with --tokens only");
    LOCUS_CHECK(request.segment == 0 || request.input_file.empty(),
                "--segment goes with --text or --tokens; an input file names its segments tokens.0, tokens.1, ...");
    const bool remembers = family == Family::transformer_xl || family == Family::xlnet;
    LOCUS_CHECK(
        request.segment == 0 || remembers,
        std::string("--segment goes with a model that has memory (transfo-xl, xlnet), found ") + to_string(family));
    if (!request.input_file.empty()) {
        PreparedInput prepared = read_input_file(request.input_file, input_names);
        if (!remembers)
            prepared.segments.front().mask_positions = find_masks(prepared.segments.front().tokens, mask_id_of(folder));
        return prepared;
    }
    ModelInput input;
    if (!request.texts.empty()) {
        input = input_of_texts(request.texts, *open_tokenizer(folder), family, types);
    } else {
        input.tokens = parse_list("--tokens", request.tokens);
        if (!request.mask.empty()) input.mask = parse_list("--mask", request.mask);
        if (!request.labels.empty()) input.labels = parse_list("--labels", request.labels);
        if (!remembers) input.mask_positions = find_masks(input.tokens, mask_id_of(folder));
    }
    if (request.segment > 0) return {cut_segments(input, request.segment), {}};
    return {{std::move(input)}, {}};
}

void predict_masks(ModelInput& input) {
    if (input.mask_positions.empty()) return;
    const Index batch = input.batch(), length = input.length();
    std::vector<std::vector<Index>> places(static_cast<std::size_t>(batch));
    for (Index n = 0; n < input.mask_positions.extent(0); ++n)
        places[static_cast<std::size_t>(input.mask_positions[2 * n])].push_back(input.mask_positions[2 * n + 1]);
    std::size_t most = 0;
    for (const std::vector<Index>& of_sample : places) most = std::max(most, of_sample.size());
    const auto targets = static_cast<Index>(most);
    input.perm_mask = IndexTensor({batch, length, length});
    input.target_mapping = IndexTensor({batch, targets, length});
    for (Index b = 0; b < batch; ++b) {
        const std::vector<Index>& of_sample = places[static_cast<std::size_t>(b)];
        for (std::size_t p = 0; p < of_sample.size(); ++p) {
            input.perm_mask.matrix(b).col(of_sample[p]).setOnes();
            input.target_mapping.matrix(b)(static_cast<Index>(p), of_sample[p]) = 1;
        }
    }
}

std::vector<Index> predict_in_order(ModelInput& input, const std::vector<std::string>& words,
                                    const Tokenizer& tokenizer) {
    LOCUS_CHECK(input.batch() == 1, "--order goes with one text");
    std::vector<Index> order;
    for (const std::string& word : words)
        for (const Index place : find_word(input, word, tokenizer)) {
            LOCUS_CHECK(std::find(order.begin(), order.end(), place) == order.end(),
                        "--order names \"" + word + "\" twice, expected every word once");
            order.push_back(place);
        }
    const Index length = input.length(), targets = std::ssize(order);
    input.perm_mask = IndexTensor({1, length, length});
    input.target_mapping = IndexTensor({1, targets, length});
    for (Index p = 0; p < targets; ++p) {
        const Index place = order[static_cast<std::size_t>(p)];
        input.perm_mask.matrix().col(place).setOnes();
        for (Index later = p + 1; later < targets; ++later)
            input.perm_mask.matrix()(order[static_cast<std::size_t>(later)], place) = 0;
        input.target_mapping.matrix()(p, place) = 1;
    }
    return order;
}

std::string readable_piece(const Tokenizer* tokenizer, std::int64_t id) {
    if (!tokenizer) return std::to_string(id);
    const std::string piece = tokenizer->piece(id), shown = display_piece(piece);
    return shown.empty() ? piece : shown;
}

std::vector<Guess> best_words(const Eigen::Ref<const RowVector<float>>& logits, const Tokenizer* tokenizer, Index top) {
    std::vector<Index> order(static_cast<std::size_t>(logits.size()));
    std::iota(order.begin(), order.end(), 0);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min<Index>(top, logits.size()));
    std::partial_sort(order.begin(), end, order.end(), [&](Index a, Index b) { return logits[a] > logits[b]; });
    const double maximum = logits.maxCoeff();
    const double sum = (logits.cast<double>().array() - maximum).exp().sum();
    std::vector<Guess> guesses;
    for (auto id = order.begin(); id != end; ++id)
        guesses.push_back({readable_piece(tokenizer, *id), *id, logits[*id], std::exp(logits[*id] - maximum) / sum});
    return guesses;
}

}  // namespace locus
