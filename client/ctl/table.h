// Rows of cells under titles, never wider than 100 columns: text columns give way, numbers do not.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/output.h"

namespace tentq::ctl {

struct Column {
  enum class Kind { text, number };
  std::string title;
  Kind kind = Kind::number;
};

struct Cell {
  Cell(std::string content, Tint colour = Tint::none)  // NOLINT: rows read as lists of texts
      : text(printable(content)), tint(colour) {}
  std::string text;
  Tint tint;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // One cell a column.
  void row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  // Titles and rows; `indent` spaces in front of each line.
  std::string text(bool terminal, std::size_t indent = 0) const;

 private:
  std::vector<std::size_t> widths(std::size_t room) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace tentq::ctl
