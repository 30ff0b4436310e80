// Rows of bitmaps over a fixed number of members (clients of a class, sessions of a client), and
// the search for the next member in turn. Conductor thread.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "daemon/core/slab.h"

namespace tentq::core {

class MemberSets {
 public:
  MemberSets(std::size_t rows, std::uint32_t members)
      : members_(members), words_((members + 63) / 64), bits_(rows * words_) {}

  void add(std::size_t row, std::uint32_t member) {
    bits_[row * words_ + member / 64] |= std::uint64_t{1} << member % 64;
  }
  void remove(std::size_t row, std::uint32_t member) {
    bits_[row * words_ + member / 64] &= ~(std::uint64_t{1} << member % 64);
  }
  bool has(std::size_t row, std::uint32_t member) const {
    return (bits_[row * words_ + member / 64] >> member % 64 & 1) != 0;
  }
  bool any(std::size_t row) const {
    for (std::uint32_t w = 0; w < words_; ++w) {
      if (bits_[row * words_ + w] != 0) return true;
    }
    return false;
  }
  // The first member of the row behind `member`, going round, that `fits`; kNone if none does.
  template <class Fits>
  std::uint32_t next(std::size_t row, std::uint32_t member, const Fits& fits) const {
    const std::uint64_t* words = &bits_[row * words_];
    const std::uint32_t start = member + 1 < members_ ? member + 1 : 0;
    std::uint32_t w = start / 64;
    std::uint64_t bits = words[w] & ~std::uint64_t{0} << start % 64;
    for (std::uint32_t i = 0; i <= words_; ++i) {
      for (; bits != 0; bits &= bits - 1) {
        const std::uint32_t found = w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        if (fits(found)) return found;
      }
      w = w + 1 < words_ ? w + 1 : 0;
      bits = words[w];
    }
    return kNone;
  }
  template <class Use>
  void for_each(std::size_t row, const Use& use) const {
    for (std::uint32_t w = 0; w < words_; ++w) {
      for (std::uint64_t bits = bits_[row * words_ + w]; bits != 0; bits &= bits - 1) {
        use(w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
    }
  }

 private:
  std::uint32_t members_;
  std::uint32_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace tentq::core
