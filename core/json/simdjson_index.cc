// The JSON index by simdjson; the only file that knows simdjson, and the only C++ one. Nothing but
// the C functions of simdjson_index.h leaves it. simdjson's first stage finds where every token
// begins and checks UTF-8, control bytes and that strings end; the tape is made by walking those
// places. A walk of the whole document by On-Demand's iterators made the same tape in 1.7 times the
// time (they keep state for a caller who skips, and here nothing is skipped). Escapes and numbers
// are checked by lex.h. Only calls that simdjson 3.0 to 3.12 have in common are used.
#include "simdjson.h"

#include "simdjson.cpp"

#include <memory>
#include <new>

extern "C" {
#include "json/lex.h"
#include "json/simdjson_index.h"
}

namespace {

using stage = simdjson::internal::dom_parser_implementation;

// What is kept from one document to the next.
struct parser {
    std::unique_ptr<stage> implementation;
    size_t capacity = 0;
};

static_assert(simdjson::SIMDJSON_PADDING <= DM_JSON_PADDING, "the padding promised by index.h");

constexpr size_t kFirstCapacity = 16 * 1024;
constexpr size_t kStageDepth = 1; // the first stage keeps no depth

const dm_lex_byte *bytes(const char *text) {
    return reinterpret_cast<const dm_lex_byte *>(text);
}

#define INLINE inline __attribute__((always_inline))

class walker {
  public:
    walker(dm_json_index *index, const dm_json_limits *limits)
        : index_(index), limits_(limits), begin_(bytes(index->text)), end_(begin_ + index->len),
          nodes_(index->nodes), room_(min(index->cap, limits->max_nodes)) {
        find_backslash(begin_);
    }

    dm_json_simdjson_result document_of(parser &p) {
        stage &first = *p.implementation;
        if (first.stage1(begin_, index_->len, simdjson::stage1_mode::regular)) {
            return DM_JSON_SIMDJSON_REFUSED;
        }
        bool good = walk(first.structural_indexes.get(), first.n_structural_indexes);
        if (no_memory_) {
            return DM_JSON_SIMDJSON_NO_MEMORY;
        }
        if (!good) {
            return DM_JSON_SIMDJSON_REFUSED;
        }
        index_->count = count_;
        return DM_JSON_SIMDJSON_OK;
    }

  private:
    static uint32_t min(uint32_t a, uint32_t b) {
        return a < b ? a : b;
    }

    INLINE void find_backslash(const dm_lex_byte *from) {
        const void *found = memchr(from, '\\', static_cast<size_t>(end_ - from));
        backslash_ = found != nullptr ? static_cast<const dm_lex_byte *>(found) : end_;
    }

    // Static and by value: were `this` handed to a function that is not inlined, every member would
    // live in memory, and each node would cost a dozen loads and stores more.
    struct room {
        dm_json_node *nodes; // nullptr: too many, or no memory
        uint32_t count;
        bool no_memory;
    };

    static __attribute__((noinline)) room widen(dm_json_index *index, const dm_json_limits *limits,
                                                uint32_t count) {
        if (count >= limits->max_nodes) {
            return {nullptr, 0, false};
        }
        if (count >= index->cap && dm_json_index_grow(index) != 0) {
            return {nullptr, 0, true};
        }
        return {index->nodes, min(index->cap, limits->max_nodes), false};
    }

    INLINE bool push(const dm_lex_byte *start, const dm_lex_byte *stop, dm_json_kind kind,
                     uint8_t flags, uint16_t count) {
        if (__builtin_expect(count_ >= room_, 0)) {
            room wider = widen(index_, limits_, count_);
            no_memory_ = wider.no_memory;
            if (wider.nodes == nullptr) {
                return false;
            }
            nodes_ = wider.nodes;
            room_ = wider.count;
        }
        nodes_[count_] = dm_json_node{static_cast<uint32_t>(start - begin_),
                                      static_cast<uint32_t>(stop - begin_),
                                      count_ + 1,
                                      static_cast<uint8_t>(kind),
                                      flags,
                                      count};
        count_++;
        return true;
    }

    // A string from behind its opening quote to its closing one; its escapes are checked here.
    INLINE bool text(const dm_lex_byte *start, const dm_lex_byte *quote, uint8_t flags) {
        while (__builtin_expect(backslash_ < quote, 0)) {
            const dm_lex_byte *next = nullptr;
            dm_lex_fault unused;
            if (backslash_ >= start) {
                next = dm_lex_escape(backslash_, end_, &flags, &unused);
            }
            if (next == nullptr) {
                return false;
            }
            find_backslash(next);
        }
        return push(start, quote, DM_JSON_STRING, flags, 0);
    }

    // A string from its opening quote; only space stands between its end and the next token.
    INLINE bool string(uint32_t at, uint32_t next, uint8_t flags) {
        const dm_lex_byte *quote = begin_ + next;
        do {
            quote--;
        } while (*quote != '"');
        return text(begin_ + at + 1, quote, flags);
    }

    // A number or literal that lex.h has seen to end at a delimiter: any byte but space between it
    // and the next token would be a token of its own, which the walk refuses.
    INLINE bool scalar(const dm_lex_byte *start, const dm_lex_byte *stop, dm_json_kind kind,
                       uint8_t flags, uint16_t decimals) {
        return stop != nullptr && (stop == end_ || *stop != '"') &&
               push(start, stop, kind, flags, decimals);
    }

    INLINE bool literal(uint32_t at, dm_json_kind kind, const char *word, size_t len) {
        dm_lex_fault unused;
        const dm_lex_byte *start = begin_ + at;
        return scalar(start, dm_lex_literal(start, end_, word, len, &unused), kind, 0, 0);
    }

    INLINE bool number(uint32_t at) {
        uint8_t flags = 0;
        uint16_t decimals = 0;
        dm_lex_fault unused;
        const dm_lex_byte *start = begin_ + at;
        const dm_lex_byte *stop = dm_lex_number(start, end_, &flags, &decimals, &unused);
        return scalar(start, stop, DM_JSON_NUMBER, flags, decimals);
    }

    // While a container is open, its node's next holds the one around it.
    INLINE bool open(uint32_t at, dm_json_kind kind) {
        const dm_lex_byte *bracket = begin_ + at;
        if (depth_ >= limits_->max_depth || !push(bracket, bracket, kind, 0, 0)) {
            return false;
        }
        nodes_[count_ - 1].next = open_;
        open_ = count_ - 1;
        depth_++;
        return true;
    }

    INLINE void close(uint32_t at) {
        dm_json_node &node = nodes_[open_];
        open_ = node.next;
        node.end = at + 1;
        node.next = count_;
        depth_--;
    }

    INLINE void count_child() {
        uint16_t &count = nodes_[open_].count;
        count = static_cast<uint16_t>(count + (count != UINT16_MAX));
    }

    // Every token of the document; at[n] is the document's length.
    INLINE bool walk(const uint32_t *at, uint32_t n) {
        uint32_t i = 0;
        for (;;) {
            // A value.
            if (i >= n) {
                return false;
            }
            uint32_t here = at[i++];
            dm_lex_byte first = begin_[here];
            bool good = true;
            bool opened = false;
            switch (first) {
            case '{':
                good = opened = open(here, DM_JSON_OBJECT);
                break;
            case '[':
                good = opened = open(here, DM_JSON_ARRAY);
                break;
            case '"':
                good = string(here, at[i], 0);
                break;
            case 't':
                good = literal(here, DM_JSON_TRUE, "true", 4);
                break;
            case 'f':
                good = literal(here, DM_JSON_FALSE, "false", 5);
                break;
            case 'n':
                good = literal(here, DM_JSON_NULL, "null", 4);
                break;
            default:
                good = (first == '-' || dm_lex_is_digit(first)) && number(here);
                break;
            }
            if (!good) {
                return false;
            }
            // What ends behind it, and where the next value begins.
            bool more = false;
            if (opened && i < n && begin_[at[i]] != (first == '{' ? '}' : ']')) {
                more = true;
            } else if (opened) {
                if (i >= n) {
                    return false;
                }
                close(at[i++]);
            }
            while (!more) {
                if (depth_ == 0) {
                    return i == n;
                }
                if (i >= n) {
                    return false;
                }
                uint32_t sign = at[i++];
                bool object = nodes_[open_].kind == DM_JSON_OBJECT;
                if (begin_[sign] == ',') {
                    more = true;
                } else if (begin_[sign] == (object ? '}' : ']')) {
                    close(sign);
                } else {
                    return false;
                }
            }
            count_child();
            if (nodes_[open_].kind == DM_JSON_OBJECT) {
                if (i + 1 >= n || begin_[at[i]] != '"' || begin_[at[i + 1]] != ':' ||
                    !string(at[i], at[i + 1], DM_JSON_IS_KEY)) {
                    return false;
                }
                i += 2;
            }
        }
    }

    dm_json_index *index_;
    const dm_json_limits *limits_;
    const dm_lex_byte *begin_;
    const dm_lex_byte *end_;
    const dm_lex_byte *backslash_; // the first one not looked at yet, or end_
    dm_json_node *nodes_;
    uint32_t count_ = 0;
    uint32_t depth_ = 0;
    uint32_t open_ = DM_JSON_NONE;
    uint32_t room_; // nodes that fit without a look at the limit or the memory
    bool no_memory_ = false;
};

} // namespace

extern "C" dm_json_simdjson_result dm_json_simdjson(dm_json_index *index,
                                                    const dm_json_limits *limits) {
    if (index->parser == nullptr) {
        index->parser = new (std::nothrow) parser();
        if (index->parser == nullptr) {
            return DM_JSON_SIMDJSON_NO_MEMORY;
        }
    }
    parser &p = *static_cast<parser *>(index->parser);
    if (p.capacity < index->len || p.capacity == 0) {
        size_t capacity = kFirstCapacity;
        while (capacity < index->len) {
            capacity *= 2;
        }
        p.capacity = 0;
        if (simdjson::get_active_implementation()->create_dom_parser_implementation(
                capacity, kStageDepth, p.implementation)) {
            return DM_JSON_SIMDJSON_NO_MEMORY;
        }
        p.capacity = capacity;
    }
    return walker(index, limits).document_of(p);
}

extern "C" size_t dm_json_simdjson_capacity(const void *p) {
    return p != nullptr ? static_cast<const parser *>(p)->capacity : 0;
}

extern "C" void dm_json_simdjson_free(void *p) {
    delete static_cast<parser *>(p);
}
