#include "core/training/corpus_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/text/corpus/corpus_text.h"
#include "core/training/random.h"

namespace locus {

namespace {

constexpr std::size_t kLongestText = 1 << 16;  // bytes given to the tokenizer at once

bool ends_sentence(const std::string& piece) {
    for (const char* mark : {".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f"})
        if (piece.ends_with(mark)) return true;
    return false;
}

bool starts_word(const std::string& piece) {
    return piece.starts_with("\u2581") || piece.starts_with("\u0120") || piece.starts_with(" ");
}

/// Where the pieces [from, ...) are cut so that at most `room` come in front.
std::size_t cut_behind(const std::vector<std::string>& pieces, std::size_t from, std::size_t end, std::size_t room) {
    if (end - from <= room) return end;
    for (std::size_t cut = from + room; cut > from; --cut)
        if (ends_sentence(pieces[cut - 1])) return cut;
    for (std::size_t cut = from + room; cut > from; --cut)
        if (starts_word(pieces[cut])) return cut;
    return from + room;
}

/// Is there a piece that is neither special nor unknown nor the bare mark of a word?
bool knows_a_piece(const Tokens& tokens, const Tokenizer& tokenizer, std::size_t from, std::size_t end) {
    const std::set<std::string> empty = {"[UNK]", "<unk>", "\u2581", "\u0120"};
    for (std::size_t t = from; t < end; ++t)
        if (!tokens.special[t] && !empty.contains(tokenizer.piece(tokens.ids[t]))) return true;
    return false;
}

/// Adds the sentences of one text, each with the frame that the tokenizer put around the whole.
void add_text(const std::string& text, const Tokenizer& tokenizer, std::size_t max_length, TokenSentences& sentences) {
    const Tokens tokens = tokenizer.encode(text);
    const auto [front, back] = tokenizer.frame();
    const std::size_t room = max_length - front - back, last = tokens.ids.size() - back;
    for (std::size_t from = front; from < last;) {
        const std::size_t end = cut_behind(tokens.pieces, from, last, room);
        std::vector<std::int64_t> ids(tokens.ids.begin(), tokens.ids.begin() + static_cast<std::ptrdiff_t>(front));
        const auto place = [&](std::size_t t) { return tokens.ids.begin() + static_cast<std::ptrdiff_t>(t); };
        ids.insert(ids.end(), place(from), place(end));
        ids.insert(ids.end(), place(last), tokens.ids.end());
        if (knows_a_piece(tokens, tokenizer, from, end)) sentences.add(ids);
        from = end;
    }
}

}  // namespace

void TokenSentences::add(std::span<const std::int64_t> ids) {
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    starts_.push_back(tokens_.size());
}

std::span<const std::int64_t> TokenSentences::at(Index sentence) const {
    const std::size_t begin = starts_.at(static_cast<std::size_t>(sentence));
    return {tokens_.data() + begin, starts_.at(static_cast<std::size_t>(sentence) + 1) - begin};
}

TokenSentences read_token_sentences(const std::filesystem::path& corpus, const Tokenizer& tokenizer, Index max_length) {
    const auto [front, back] = tokenizer.frame();
    LOCUS_CHECK(max_length > static_cast<Index>(front + back), "sentences of at most " + std::to_string(max_length) +
                                                                   " tokens were asked for, expected more than the " +
                                                                   std::to_string(front + back) +
                                                                   " special ones around a sentence");
    const std::string text = read_corpus_text(corpus);
    TokenSentences sentences;
    for (const std::string_view line : short_lines(text, kLongestText)) {
        const Index before = sentences.count();
        add_text(std::string(line), tokenizer, static_cast<std::size_t>(max_length), sentences);
        sentences.count_cuts(std::max<Index>(0, sentences.count() - before - 1));
    }
    if (sentences.count() == 0)
        throw Error(Fault::unreadable, corpus.string() + ": holds no piece of the tokenizer's vocabulary");
    return sentences;
}

CorpusSplit split_corpus(Index count, double share, std::uint64_t seed) {
    LOCUS_CHECK(share >= 0 && share < 1,
                "a share of " + std::to_string(share) + " was to be held out, expected at least 0 and less than 1");
    std::vector<Index> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), Index{0});
    RandomStream(seed, stream_of(RandomUse::heldout)).shuffle(all);
    const Index wished = static_cast<Index>(std::llround(share * static_cast<double>(count)));
    const auto middle = all.begin() + std::max<Index>(0, std::min(wished, count - 1));
    CorpusSplit split{{middle, all.end()}, {all.begin(), middle}};
    std::sort(split.learn.begin(), split.learn.end());
    std::sort(split.heldout.begin(), split.heldout.end());
    return split;
}

}  // namespace locus
