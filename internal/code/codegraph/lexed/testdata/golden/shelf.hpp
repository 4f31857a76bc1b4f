#pragma once
#include <vector>
#include "cart.h"

namespace shop::store {

template <typename T, int N = 4> class Shelf;
template <typename T> concept Priced = requires(T t) { t.price(); };
using Lines = std::vector<cart_t>;
template <class T> using Ptr = std::shared_ptr<T>;
inline constexpr int kMax{10};
extern int opened;

/// A shelf of things. It grows.
template <typename T, int N>
class EXPORT Shelf final : public Base<T>, private detail::Lock {
 public:
  using value_type = T;
  explicit Shelf(std::size_t n = N) : items_(n), size_{n} {}
  Shelf(const Shelf&) = delete;
  Shelf& operator=(Shelf&& other) noexcept { swap(other); return *this; }
  virtual ~Shelf() = default;
  operator bool() const { return size_ > 0; }
  T& operator[](int i) { return items_[i]; }
  bool operator()(int a, int b) const;
  /// The size.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  template <typename F> void each(F&& f) { for (auto& item : items_) f(item); }
  static Shelf make(int n);
  virtual void open(const char* name = "class Fake {};") = 0;
  friend bool operator==(const Shelf& a, const Shelf& b) { return a.size() == b.size(); }
  friend class Keeper;

  struct Slot { int row, column; Slot* next = nullptr; };
  enum class State : char { kOpen, kClosed = 'x' };
  enum Plain { kOne, kTwo };

 protected:
  std::vector<T> items_;
  void (*callback_)(Shelf*, int) = nullptr;

 private:
  std::size_t size_ = 0;  ///< How many.
  static int count_;
  int bits_ : 3;
};

template <> class Shelf<int, 1> { int only; };

}  // namespace shop::store
