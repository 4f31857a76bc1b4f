#include "shelf.hpp"

using namespace shop::store;
using std::string;

namespace {
int hidden = 1;
void helper(int n) { opened += n; }
}

namespace shop {
namespace store {

int opened = 0;
template <typename T, int N> int Shelf<T, N>::count_ = 0;

/* Makes a shelf. */
template <typename T, int N>
Shelf<T, N> Shelf<T, N>::make(int n) {
  auto text = R"x(class Fake { void no(); )x" "more";
  const auto add = [&, n](int hidden, auto... rest) -> int { helper(hidden); return kMax; };
  static_cast<void>(add(1'000));
  std::vector<Lines> lines(n), others{1, 2};
  for (const auto& [key, value] : table()) { value->open(key); }
  return Shelf(n < 3 && n > 2);
}

bool operator<(const Lines& a, const Lines& b) { return a.size() < b.size(); }

Keeper::Keeper(int n) : Base(n), shelf_{Shelf<int>::make(n)}, other_(hidden) { this->start(); }
Keeper::~Keeper() { stop(); }
void Keeper::stop() { if (shelf_) shelf_->close(); }

class Keeper : public Base {
  Shelf<int>* shelf_;
  void stop();
};

}  // namespace store
}  // namespace shop

TEST(ShelfTest, Makes) { EXPECT_EQ(shop::store::Shelf<int>::make(1).size(), 1); }
TEST_F(KeeperTest, Stops) { Keeper(1).stop(); }
