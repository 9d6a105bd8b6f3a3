// Takes the steps of a compiled expression over a text, going back to the last choice where one
// leads nowhere.
#include "base/utf8.h"
#include "tokenizer/regex/regex.h"

namespace puna::tokenizer {

namespace {
constexpr size_t kNowhere = static_cast<size_t>(-1);
}  // namespace

class RegexMatcher {
 public:
  using Step = Regex::Step;

  RegexMatcher(const Regex& regex, std::string_view text, size_t search_begin)
      : regex_(regex), text_(text), search_begin_(search_begin) {}

  // Where the match that begins at `at` ends, or kNowhere; neither counts once it has given up.
  size_t match(size_t at) {
    n_steps_ = 0;
    gave_up_ = false;
    registers_.assign(regex_.n_registers_, kNowhere);
    return run(0, at, kNowhere);
  }
  bool gave_up() const { return gave_up_; }

 private:
  struct Choice {
    enum Kind : uint8_t { kFork, kFewer, kMore, kRestore } kind;
    uint32_t step;  // where to go on; the register of kRestore
    size_t at;      // from where; the old value of kRestore
    size_t limit;   // kFewer: the least place to go back to; kMore: how many characters are left
  };

  bool in_set(uint32_t set, size_t at, size_t& bytes) const {
    if (at >= text_.size()) return false;
    const base::Utf8Unit unit = base::utf8_next(text_, at);
    bytes = unit.bytes;
    return regex_.sets_[set].contains(unit.code_point);
  }

  // Runs from `step` to its kAccept. `end`: where that has to be, or kNowhere for anywhere. Choices
  // that were open before are left alone.
  size_t run(uint32_t step, size_t at, size_t end) {
    const size_t floor = choices_.size();
    for (;;) {
      const bool accepted = advance(step, at);
      if (accepted && (end == kNowhere || at == end)) break;
      if (!back(floor, step, at)) return kNowhere;
    }
    // What is left open is given up, but what registers were stays as it is now.
    choices_.resize(floor);
    return at;
  }

  // Goes back to the last choice above `floor`.
  bool back(size_t floor, uint32_t& step, size_t& at) {
    while (choices_.size() > floor) {
      Choice& choice = choices_.back();
      if (choice.kind == Choice::kRestore) {
        registers_[choice.step] = choice.at;
        choices_.pop_back();
        continue;
      }
      gave_up_ = n_steps_ > kMostSteps;
      if (gave_up_) return false;
      step = choice.step;
      if (choice.kind == Choice::kFork) {
        at = choice.at;
        choices_.pop_back();
        return true;
      }
      if (choice.kind == Choice::kFewer) {
        choice.at -= base::utf8_previous_bytes(text_, choice.at);
        at = choice.at;
        if (choice.at <= choice.limit) choices_.pop_back();
        return true;
      }
      size_t bytes = 0;
      const uint32_t set = regex_.steps_[step - 1].a;
      if (choice.limit == 0 || !in_set(set, choice.at, bytes)) {
        choices_.pop_back();
        continue;
      }
      choice.at += bytes;
      --choice.limit;
      at = choice.at;
      return true;
    }
    return false;
  }

  // Takes steps until the text does not fit (false) or all are taken (true).
  bool advance(uint32_t& step, size_t& at) {
    for (;;) {
      const Step& now = regex_.steps_[step];
      ++n_steps_;
      size_t bytes = 0;
      switch (now.op) {
        case Step::kSet:
          if (!in_set(now.a, at, bytes)) return false;
          at += bytes;
          ++step;
          continue;
        case Step::kRepeatSet:
          if (!repeat(now, step, at)) return false;
          continue;
        case Step::kFork:
          choices_.push_back({Choice::kFork, now.b, at, 0});
          step = now.a;
          continue;
        case Step::kJump:
          step = now.a;
          continue;
        case Step::kSave:
          choices_.push_back({Choice::kRestore, now.a, registers_[now.a], 0});
          registers_[now.a] = at;
          ++step;
          continue;
        case Step::kLoopGuard:
          step = registers_[now.a] == at ? now.b : step + 1;
          continue;
        case Step::kAtomic: {
          const size_t end = run(step + 1, at, kNowhere);
          if (end == kNowhere) return false;
          at = end;
          step = now.a;
          continue;
        }
        case Step::kAccept:
          return true;
        default:
          if (!condition(now, step, at)) return false;
          step = now.op == Step::kLook ? now.a : step + 1;
      }
    }
  }

  bool repeat(const Step& now, uint32_t& step, size_t& at) {
    size_t bytes = 0;
    uint32_t count = 0;
    size_t least_end = at;
    const bool lazy = now.greed == 1;
    const uint32_t wanted = lazy ? now.b : now.c;
    while (count < wanted && in_set(now.a, at, bytes)) {
      at += bytes;
      if (++count == now.b) least_end = at;
    }
    n_steps_ += count;
    if (count < now.b) return false;
    ++step;
    if (lazy) {
      choices_.push_back({Choice::kMore, step, at, now.c - count});
    } else if (now.greed == 0 && at > least_end) {
      choices_.push_back({Choice::kFewer, step, at, least_end});
    }
    return true;
  }

  bool is_word(uint32_t set, size_t at) const {
    size_t bytes = 0;
    return in_set(set, at, bytes);
  }

  // Conditions, and what passes text without a choice.
  bool condition(const Step& now, uint32_t step, size_t& at) {
    const auto line_ends = [&](size_t place) {
      return place == text_.size() || text_[place] == '\n';
    };
    switch (now.op) {
      case Step::kLineBegin:
        // Not behind the line end that ends the text.
        return at == 0 || (text_[at - 1] == '\n' && at < text_.size());
      case Step::kLineEnd:
        return line_ends(at);
      case Step::kTextBegin:
        return at == 0;
      case Step::kTextEnd:
        return at == text_.size();
      case Step::kTextEndOrLine:
        return at == text_.size() || (at + 1 == text_.size() && text_[at] == '\n');
      case Step::kSearchBegin:
        return at == search_begin_;
      case Step::kWordEdge: {
        const bool before = at > 0 && is_word(now.a, at - base::utf8_previous_bytes(text_, at));
        return (before != is_word(now.a, at)) != now.negated;
      }
      case Step::kBackReference: {
        const size_t begin = registers_[now.a], end = registers_[now.a + 1];
        if (begin == kNowhere || end == kNowhere || end < begin) return false;
        const std::string_view known = text_.substr(begin, end - begin);
        if (!text_.substr(at).starts_with(known)) return false;
        at += known.size();
        return true;
      }
      case Step::kLook:
        return looks(now, step, at) != now.negated;
      default:
        return false;
    }
  }

  bool looks(const Step& now, uint32_t step, size_t at) {
    if (!now.behind) return run(step + 1, at, kNowhere) != kNowhere;
    size_t begin = at;
    for (uint32_t back = 0;; ++back) {
      if (back >= now.b && run(step + 1, begin, at) != kNowhere) return true;
      if (back == now.c || begin == 0) return false;
      begin -= base::utf8_previous_bytes(text_, begin);
    }
  }

  const Regex& regex_;
  std::string_view text_;
  size_t search_begin_;
  std::vector<size_t> registers_;
  std::vector<Choice> choices_;
  uint64_t n_steps_ = 0;
  bool gave_up_ = false;
};

std::optional<Match> Regex::search(std::string_view text, size_t from) const {
  RegexMatcher matcher(*this, text, from);
  for (size_t at = from;;) {
    const size_t end = matcher.match(at);
    if (matcher.gave_up()) return {};
    if (end != kNowhere) return Match{at, end};
    if (at >= text.size()) return {};
    at += base::utf8_next(text, at).bytes;
  }
}

}  // namespace puna::tokenizer
