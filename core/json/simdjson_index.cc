// The JSON index by simdjson On-Demand; the only file that knows simdjson, and the only C++ one.
// Nothing but the C functions of simdjson_index.h leaves it. On-Demand is lazy: it checks what it
// is made to walk over, and of that neither escapes nor numbers that are not converted, nor what
// follows the document. So everything is walked here, and those three are checked by lex.h. Only
// calls that simdjson 3.0 to 3.12 have in common are used.
#include "simdjson.h"

#include "simdjson.cpp"

#include <new>

extern "C" {
#include "json/lex.h"
#include "json/simdjson_index.h"
}

namespace {

using simdjson::ondemand::document;
using simdjson::ondemand::field;
using simdjson::ondemand::object;
using simdjson::ondemand::parser;
using simdjson::ondemand::value;

static_assert(simdjson::SIMDJSON_PADDING <= DM_JSON_PADDING, "the padding promised by index.h");

constexpr size_t kFirstCapacity = 16 * 1024;

const dm_lex_byte *bytes(const char *text) {
    return reinterpret_cast<const dm_lex_byte *>(text);
}

class walker {
  public:
    walker(dm_json_index *index, const dm_json_limits *limits)
        : index_(index), limits_(limits), begin_(bytes(index->text)), end_(begin_ + index->len),
          nodes_(index->nodes), room_(min(index->cap, limits->max_nodes)) {
        find_backslash(begin_);
    }

    dm_json_simdjson_result document_of(parser &p) {
        const dm_lex_byte *root = dm_lex_skip_space(begin_, end_);
        if (root == end_) {
            return DM_JSON_SIMDJSON_REFUSED;
        }
        simdjson::padded_string_view text(index_->text, index_->len, index_->len + DM_JSON_PADDING);
        document doc;
        simdjson::error_code error = p.iterate(text).get(doc);
        if (error) {
            return error == simdjson::MEMALLOC ? DM_JSON_SIMDJSON_NO_MEMORY
                                               : DM_JSON_SIMDJSON_REFUSED;
        }
        const dm_lex_byte *behind = root;
        bool good;
        if (*root == '{' || *root == '[') {
            value v;
            good = !doc.get_value().get(v) && any(v, 1, behind);
        } else {
            // A lone scalar: On-Demand has checked its UTF-8 and, if it is a string, that it ends.
            std::string_view token;
            good = !doc.raw_json_token().get(token) && scalar(token, 0, behind);
        }
        if (no_memory_) {
            return DM_JSON_SIMDJSON_NO_MEMORY;
        }
        if (!good || dm_lex_skip_space(behind, end_) != end_) {
            return DM_JSON_SIMDJSON_REFUSED;
        }
        index_->count = count_;
        return DM_JSON_SIMDJSON_OK;
    }

  private:
    static uint32_t min(uint32_t a, uint32_t b) {
        return a < b ? a : b;
    }

    void find_backslash(const dm_lex_byte *from) {
        const void *found = memchr(from, '\\', static_cast<size_t>(end_ - from));
        backslash_ = found != nullptr ? static_cast<const dm_lex_byte *>(found) : end_;
    }

    bool widen() {
        if (count_ >= limits_->max_nodes) {
            return false;
        }
        if (count_ >= index_->cap && dm_json_index_grow(index_) != 0) {
            no_memory_ = true;
            return false;
        }
        nodes_ = index_->nodes;
        room_ = min(index_->cap, limits_->max_nodes);
        return true;
    }

    bool push(const dm_lex_byte *start, const dm_lex_byte *stop, dm_json_kind kind, uint8_t flags,
              uint16_t count) {
        if (count_ >= room_ && !widen()) {
            return false;
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
    bool text(const dm_lex_byte *start, const dm_lex_byte *quote, uint8_t flags) {
        while (backslash_ < quote) {
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

    // A token reaches to where the next one begins: everything behind its own end must be space.
    bool only_space(const dm_lex_byte *from, std::string_view token) const {
        return from != nullptr && dm_lex_skip_space(from, bytes(token.data() + token.size())) ==
                                      bytes(token.data() + token.size());
    }

    bool literal(std::string_view token, dm_json_kind kind, const char *word, size_t len,
                 const dm_lex_byte *&behind) {
        const dm_lex_byte *start = bytes(token.data());
        dm_lex_fault unused;
        behind = dm_lex_literal(start, end_, word, len, &unused);
        return only_space(behind, token) && push(start, behind, kind, 0, 0);
    }

    bool scalar(std::string_view token, uint8_t flags, const dm_lex_byte *&behind) {
        const dm_lex_byte *start = bytes(token.data());
        switch (*start) {
        case '"': {
            const dm_lex_byte *quote = start + token.size() - 1;
            while (*quote != '"') {
                quote--;
            }
            behind = quote + 1;
            return text(start + 1, quote, flags);
        }
        case 't':
            return literal(token, DM_JSON_TRUE, "true", 4, behind);
        case 'f':
            return literal(token, DM_JSON_FALSE, "false", 5, behind);
        case 'n':
            return literal(token, DM_JSON_NULL, "null", 4, behind);
        default:
            break;
        }
        if (*start != '-' && !dm_lex_is_digit(*start)) {
            return false;
        }
        uint16_t decimals = 0;
        dm_lex_fault unused;
        behind = dm_lex_number(start, end_, &flags, &decimals, &unused);
        return only_space(behind, token) && push(start, behind, DM_JSON_NUMBER, flags, decimals);
    }

    // Any value at the given depth; behind is moved behind it.
    bool any(value &v, uint32_t depth, const dm_lex_byte *&behind) {
        std::string_view token = v.raw_json_token();
        switch (token[0]) {
        case '{':
            return members(v, depth, bytes(token.data()), behind);
        case '[':
            return elements(v, depth, bytes(token.data()), behind);
        case '"': {
            // Taken, so that On-Demand cannot mistake it for a key.
            simdjson::ondemand::raw_json_string taken;
            return !v.get_raw_json_string().get(taken) && scalar(token, 0, behind);
        }
        default:
            return scalar(token, 0, behind);
        }
    }

    void close(uint32_t node, uint32_t count, const dm_lex_byte *&behind) {
        // On-Demand has seen the closing bracket, with only space before it.
        behind = dm_lex_skip_space(behind, end_) + 1;
        nodes_[node].end = static_cast<uint32_t>(behind - begin_);
        nodes_[node].next = count_;
        nodes_[node].count = static_cast<uint16_t>(count < UINT16_MAX ? count : UINT16_MAX);
    }

    bool members(value &v, uint32_t depth, const dm_lex_byte *bracket, const dm_lex_byte *&behind) {
        uint32_t node = count_, count = 0;
        object all;
        if (depth > limits_->max_depth || !push(bracket, bracket, DM_JSON_OBJECT, 0, 0) ||
            v.get_object().get(all)) {
            return false;
        }
        behind = bracket + 1;
        for (auto result : all) {
            field member;
            if (std::move(result).get(member)) {
                return false;
            }
            value &inner = member.value();
            // The key ends at the last quote before its value, with only space and a colon between.
            const dm_lex_byte *quote = bytes(std::string_view(inner.raw_json_token()).data());
            do {
                quote--;
            } while (*quote != '"');
            if (!text(bytes(member.key().raw()), quote, DM_JSON_IS_KEY) ||
                !any(inner, depth + 1, behind)) {
                return false;
            }
            count++;
        }
        close(node, count, behind);
        return true;
    }

    bool elements(value &v, uint32_t depth, const dm_lex_byte *bracket,
                  const dm_lex_byte *&behind) {
        uint32_t node = count_, count = 0;
        simdjson::ondemand::array all;
        if (depth > limits_->max_depth || !push(bracket, bracket, DM_JSON_ARRAY, 0, 0) ||
            v.get_array().get(all)) {
            return false;
        }
        behind = bracket + 1;
        for (auto result : all) {
            value inner;
            if (std::move(result).get(inner) || !any(inner, depth + 1, behind)) {
                return false;
            }
            count++;
        }
        close(node, count, behind);
        return true;
    }

    dm_json_index *index_;
    const dm_json_limits *limits_;
    const dm_lex_byte *begin_;
    const dm_lex_byte *end_;
    const dm_lex_byte *backslash_; // the first one not looked at yet, or end_
    dm_json_node *nodes_;
    uint32_t count_ = 0;
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
    if (p.capacity() < index->len || p.capacity() == 0) {
        size_t capacity = kFirstCapacity;
        while (capacity < index->len) {
            capacity *= 2;
        }
        if (p.allocate(capacity, DM_JSON_DEPTH_HARD)) {
            return DM_JSON_SIMDJSON_NO_MEMORY;
        }
    }
    return walker(index, limits).document_of(p);
}

extern "C" size_t dm_json_simdjson_capacity(const void *p) {
    return p != nullptr ? static_cast<const parser *>(p)->capacity() : 0;
}

extern "C" void dm_json_simdjson_free(void *p) {
    delete static_cast<parser *>(p);
}
