#pragma once
// A tokenizer out of two parts: special tokens around and inside the text, and whatever cuts the text between them.
#include <memory>

#include "core/text/tokenizers/piece_model.h"
#include "core/text/tokenizers/token_frame.h"
#include "core/text/tokenizers/tokenizer.h"

namespace locus {

/// Cuts the text between two special tokens into pieces.
class TextCutter {
public:
    virtual ~TextCutter() = default;
    /// `at_start` says that nothing stands before this text.
    virtual void cut(const std::string& text, bool at_start, std::vector<Piece>& pieces) const = 0;
    /// Piece of an id; nothing if none has it.
    virtual std::optional<std::string> piece(std::int64_t id) const = 0;
};

class FramedTokenizer : public Tokenizer {
public:
    FramedTokenizer(TokenFrame frame, std::unique_ptr<TextCutter> cutter);

    Tokens encode(const std::string& text) const override;
    std::string piece(std::int64_t id) const override;
    std::optional<std::int64_t> mask_id() const override { return frame_.mask; }
    std::optional<std::int64_t> pad_id() const override { return frame_.pad; }
    bool pads_left() const override { return frame_.pads_left; }
    std::pair<std::size_t, std::size_t> frame() const override { return {frame_.front.size(), frame_.behind.size()}; }

private:
    TokenFrame frame_;
    std::unique_ptr<TextCutter> cutter_;
};

}  // namespace locus
