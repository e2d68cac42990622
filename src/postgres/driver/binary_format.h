// PostgreSQL's binary formats: network byte order, microseconds since the year 2000.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <pawl/types.h>
#include <string>

namespace pawl::postgres {

inline constexpr std::uint32_t oid_bool = 16;
inline constexpr std::uint32_t oid_int8 = 20;
inline constexpr std::uint32_t oid_int4 = 23;
inline constexpr std::uint32_t oid_text = 25;
inline constexpr std::uint32_t oid_json = 114;
inline constexpr std::uint32_t oid_timestamptz = 1184;

inline std::uint32_t swap_order(std::uint32_t value) {
    return std::endian::native == std::endian::little ? __builtin_bswap32(value) : value;
}
inline std::uint64_t swap_order(std::uint64_t value) {
    return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

template <class Integer>
void put_integer(std::string& out, Integer value) {
    const Integer wire = swap_order(value);
    char bytes[sizeof wire];
    std::memcpy(bytes, &wire, sizeof wire);
    out.append(bytes, sizeof wire);
}
inline void put_int32(std::string& out, std::int32_t value) {
    put_integer(out, static_cast<std::uint32_t>(value));
}
inline void put_int64(std::string& out, std::int64_t value) {
    put_integer(out, static_cast<std::uint64_t>(value));
}

inline std::int32_t read_int32(const char* bytes) {
    std::uint32_t wire = 0;
    std::memcpy(&wire, bytes, sizeof wire);
    return static_cast<std::int32_t>(swap_order(wire));
}
inline std::int64_t read_int64(const char* bytes) {
    std::uint64_t wire = 0;
    std::memcpy(&wire, bytes, sizeof wire);
    return static_cast<std::int64_t>(swap_order(wire));
}

inline constexpr Timestamp postgres_epoch =
    std::chrono::sys_days(std::chrono::year(2000) / std::chrono::January / 1);

inline std::int64_t to_postgres_time(Timestamp time) {
    return (time - postgres_epoch).count();
}
inline Timestamp from_postgres_time(std::int64_t time) {
    return postgres_epoch + std::chrono::microseconds(time);
}

}  // namespace pawl::postgres
