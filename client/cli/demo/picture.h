// The picture of `winnow demo`: rows of scores, and what the two-level indexer kept of each.

#ifndef WINNOW_CLIENT_CLI_DEMO_PICTURE_H_
#define WINNOW_CLIENT_CLI_DEMO_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace winnow::cli {

struct PictureRow {
  std::vector<float> scores;     // the whole row
  std::vector<int32_t> tokens;   // positions that the source layer keeps
  std::vector<int32_t> blocks;   // candidate blocks that it publishes
  std::vector<int32_t> later;    // positions that a later layer keeps among the candidates
  int64_t candidate_length = 0;  // scores in the blocks
};

struct PictureParameters {
  int32_t k = 512;
  int32_t k_blocks = 2048;
  int32_t block_size = 8;
  std::string footer;  // one line under the panels
};

// An SVG of one panel for each row, by length, in two columns. Draws a row of any length with a few
// thousand path commands at most: scores become the range of each pixel. Reads on light and dark
// backgrounds and without telling red from green. The same input gives the same bytes.
std::string DrawPicture(const std::vector<PictureRow>& rows, const PictureParameters& parameters);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_PICTURE_H_
