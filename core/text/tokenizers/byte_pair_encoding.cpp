#include "core/text/tokenizers/byte_pair_encoding.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <queue>
#include <tuple>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/token_frame.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

// --- merges ----------------------------------------------------------------------------------------------------------

namespace {

std::uint64_t key_of(std::int64_t left, std::int64_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
}

constexpr std::size_t kNoLink = static_cast<std::size_t>(-1);

/// A piece of the word, linked to its neighbours; a piece merged into the one before it has the id -1.
struct Link {
    std::int64_t id = 0;
    std::size_t previous = kNoLink, next = kNoLink;
};

/// A pair that may be merged: the smallest rank first, the leftmost of these.
struct Candidate {
    std::size_t rank = 0, at = 0;
    std::int64_t left = 0, right = 0, merged = 0;  // the ids when it was found; the links may have changed since
    bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

}  // namespace

bool PairMerges::add(std::int64_t left, std::int64_t right, std::int64_t merged) {
    return merges_.try_emplace(key_of(left, right), Merge{merges_.size(), merged}).second;
}

const PairMerges::Merge* PairMerges::find(std::int64_t left, std::int64_t right) const {
    const auto found = merges_.find(key_of(left, right));
    return found == merges_.end() ? nullptr : &found->second;
}

std::vector<std::int64_t> PairMerges::merge(const std::vector<std::int64_t>& word, MergeOrder order) const {
    std::vector<Link> links(word.size());
    for (std::size_t n = 0; n < word.size(); ++n)
        links[n] = {word[n], n == 0 ? kNoLink : n - 1, n + 1 == word.size() ? kNoLink : n + 1};
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    std::vector<Candidate> found;  // waits for the end of the round
    const auto look = [&](std::size_t at) {
        if (at == kNoLink || links[at].next == kNoLink) return;
        const std::int64_t left = links[at].id, right = links[links[at].next].id;
        if (const Merge* merge = find(left, right)) found.push_back({merge->rank, at, left, right, merge->merged});
    };
    const auto publish = [&] {
        for (const Candidate& one : found) queue.push(one);
        found.clear();
    };
    for (std::size_t n = 0; n < word.size(); ++n) look(n);
    publish();
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Link& left = links[best.at];
        if (left.id == best.left && left.next != kNoLink && links[left.next].id == best.right) {
            Link& right = links[left.next];
            left.id = best.merged;
            left.next = right.next;
            right.id = -1;
            if (left.next != kNoLink) links[left.next].previous = best.at;
            look(left.previous);
            look(best.at);
        }
        if (order == MergeOrder::one_by_one || queue.empty() || queue.top().rank != best.rank) publish();
    }
    std::vector<std::int64_t> merged;
    for (std::size_t at = links.empty() ? kNoLink : 0; at != kNoLink; at = links[at].next)
        merged.push_back(links[at].id);
    return merged;
}

std::vector<std::int64_t> BpeModel::characters(const std::string& word) const {
    std::vector<std::int64_t> ids;
    bool unknown_before = false;
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t start = at;
        next_character(word, at);
        const std::string character = word.substr(start, at - start);
        if (const auto id = vocabulary_.find(character)) {
            ids.push_back(*id);
            unknown_before = false;
            continue;
        }
        if (options_.byte_fallback) {
            if (const auto bytes = byte_pieces(character, *this)) {
                for (const Piece& one : *bytes) ids.push_back(one.id);
                unknown_before = false;
                continue;
            }
        }
        if (options_.unknown && !(unknown_before && options_.fuse_unknown)) ids.push_back(options_.unknown->id);
        unknown_before = true;
    }
    return ids;
}

void BpeModel::cut(const std::string& word, std::vector<Piece>& pieces) const {
    if (const auto whole = options_.whole_words_first ? vocabulary_.find(word) : std::nullopt) {
        pieces.push_back({*whole, word});
        return;
    }
    for (const std::int64_t id : merges_.merge(characters(word), options_.order))
        pieces.push_back({id, vocabulary_.piece(id).value_or(options_.unknown ? options_.unknown->text : "")});
}

void add_merge(PairMerges& merges, const Vocabulary& vocabulary, const std::string& left, const std::string& right,
               const std::string& location) {
    std::int64_t ids[3];
    int n = 0;
    for (const std::string& piece : {left, right, left + right}) {
        const auto id = vocabulary.find(piece);
        if (!id)
            throw Error(Fault::unreadable, location + " merges " + excerpt(left) + " and " + excerpt(right) +
                                               ", but the vocabulary has no piece " + excerpt(piece));
        ids[n++] = *id;
    }
    if (!merges.add(ids[0], ids[1], ids[2]))
        throw Error(Fault::unreadable,
                    location + " merges " + excerpt(left) + " and " + excerpt(right) + " for the second time");
}

PairMerges read_merges_txt(const std::filesystem::path& file, const Vocabulary& vocabulary) {
    const std::vector<std::string> lines = lines_of(read_model_file(file));
    PairMerges merges;
    for (std::size_t n = 0; n < lines.size(); ++n) {
        if (n == 0 && lines[n].starts_with("#version")) continue;
        const std::string location = file.string() + ": line " + std::to_string(n + 1);
        const std::size_t blank = lines[n].find(' ');
        if (blank == 0 || blank == std::string::npos || blank + 1 == lines[n].size() ||
            lines[n].find(' ', blank + 1) != std::string::npos || repair_utf8(lines[n]).replaced > 0)
            throw Error(Fault::unreadable,
                        location + " is " + excerpt(lines[n]) + ", expected two pieces with one blank between them");
        add_merge(merges, vocabulary, lines[n].substr(0, blank), lines[n].substr(blank + 1), location);
    }
    return merges;
}

std::optional<std::vector<Piece>> byte_pieces(const std::string& text, const PieceModel& model) {
    std::vector<Piece> pieces;
    for (const char letter : text) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(static_cast<unsigned char>(letter)));
        const auto id = model.find(name);
        if (!id) return std::nullopt;
        pieces.push_back({*id, name});
    }
    return pieces;
}

// --- the tokenizer ---------------------------------------------------------------------------------------------------

namespace {

class ByteBpeCutter : public TextCutter {
public:
    explicit ByteBpeCutter(BpeModel model) : model_(std::move(model)) {}

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        for (const std::string& word : gpt2_words(text)) model_.cut(bytes_as_characters(word), pieces);
    }
    std::optional<std::string> piece(std::int64_t id) const override { return model_.piece(id); }

private:
    BpeModel model_;
};

/// Names and frame where no file gives them.
FrameDefaults frame_of(const Vocabulary& vocabulary, const TokenizerFiles& files, const std::string& file) {
    FrameDefaults defaults = bert_frame(file);
    if (files.tokenizer_class() == "GPT2Tokenizer") {
        const std::string end = "<|endoftext|>";
        defaults.roles = {{"unk_token", end}, {"bos_token", end}, {"eos_token", end}};
        defaults.single = {{kFirstText}};
        defaults.pair = {};
        return defaults;
    }
    if (!vocabulary.find("[CLS]") && (vocabulary.find("<s>") || files.role("cls_token")))
        defaults.roles = {{"cls_token", "<s>"},
                          {"sep_token", "</s>"},
                          {"pad_token", "<pad>"},
                          {"unk_token", "<unk>"},
                          {"mask_token", "<mask>"}};
    defaults.roles.back().takes_left = true;
    for (const char* name : {"RobertaTokenizer", "LongformerTokenizer", "BartTokenizer"})
        if (files.tokenizer_class() == name)  // two separators between the texts, one type for all
            defaults.pair = {{"cls_token"}, {kFirstText}, {"sep_token"}, {"sep_token"}, {kSecondText}, {"sep_token"}};
    return defaults;
}

}  // namespace

std::unique_ptr<Tokenizer> open_byte_bpe(const TokenizerFiles& files) {
    const std::string vocab_file = (files.folder() / "vocab.json").string();
    Vocabulary vocabulary = read_vocab_json(parse_json_object(read_model_file(vocab_file), vocab_file), vocab_file);
    PairMerges merges = read_merges_txt(files.folder() / "merges.txt", vocabulary);
    TokenFrame frame = make_frame(files, frame_of(vocabulary, files, vocab_file),
                                  [&](const std::string& name) { return vocabulary.find(name); });
    const bool gpt2 = files.tokenizer_class() == "GPT2Tokenizer";
    if (gpt2) files.refuse_true("add_bos_token");
    if (files.flag("add_prefix_space").value_or(false))
        frame.blank = gpt2 ? BlankInFront::always : BlankInFront::where_missing;
    BpeOptions options;
    if (frame.unknown) options.unknown = Piece{frame.unknown->id, frame.unknown->name};
    return std::make_unique<FramedTokenizer>(
        std::move(frame),
        std::make_unique<ByteBpeCutter>(BpeModel(std::move(vocabulary), std::move(merges), std::move(options))));
}

}  // namespace locus
