// Column widths: as wide as the widest cell, then text columns give way until the row fits.
#include "client/ctl/table.h"

#include <algorithm>
#include <numeric>

#include "proto/check.h"

namespace tentq::ctl {
namespace {

constexpr std::size_t kGap = 2;        // between columns
constexpr std::size_t kLeastText = 6;  // of a text column that gives way

// The cell at its place: text to the left, numbers to the right; no spaces at a line's end.
void append_cell(const std::string& text, Tint tint, Column::Kind kind, std::size_t width,
                 bool last, bool terminal, std::string* line) {
  const std::string shown = cut(text, width);
  const std::string space(width - std::min(width, width_of(shown)), ' ');
  const std::string coloured = tinted(shown, tint, terminal);
  if (kind == Column::Kind::number) {
    *line += space + coloured;
  } else {
    *line += coloured + (last ? std::string() : space);
  }
  if (!last) line->append(kGap, ' ');
}

}  // namespace

void Table::row(std::vector<Cell> cells) {
  TENTQ_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::size_t room) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = width_of(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[c].text));
    widths.push_back(width);
  }
  const std::size_t gaps = kGap * (columns_.size() - 1);
  while (std::accumulate(widths.begin(), widths.end(), gaps) > room) {
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].kind != Column::Kind::text || widths[c] <= kLeastText) continue;
      if (widest == columns_.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::text(bool terminal, std::size_t indent) const {
  const std::vector<std::size_t> wide = widths(kMostColumns - indent);
  std::string out;
  const auto line = [&](const auto& cell_at) {
    std::string content(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Cell& cell = cell_at(c);
      append_cell(cell.text, cell.tint, columns_[c].kind, wide[c], c + 1 == columns_.size(),
                  terminal, &content);
    }
    out += content + '\n';
  };
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.emplace_back(column.title, Tint::bold);
  line([&](std::size_t c) -> const Cell& { return titles[c]; });
  for (const auto& row : rows_) {
    line([&](std::size_t c) -> const Cell& { return row[c]; });
  }
  return out;
}

}  // namespace tentq::ctl
