// The parts of the TCP transport that know no socket: queues, tables, and the machines that say
// what is sent next and where what arrives belongs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "transports/tcp/asked_reads.h"
#include "transports/tcp/chunk_book.h"
#include "transports/tcp/inbound.h"
#include "transports/tcp/mailbox.h"
#include "transports/tcp/outbound.h"
#include "transports/tcp/received_pieces.h"
#include "transports/tcp/serials.h"
#include "transports/tcp/stall_watch.h"

namespace tentq::test {
namespace {

// A peer may make connections for as long as it likes.
TEST(Serials, BeginAnewAndLeaveOutWhatIsInUse) {
  Serials serials(4);
  std::vector<std::uint32_t> given;
  for (int i = 0; i < 9; ++i) {
    given.push_back(serials.next([](std::uint32_t serial) { return serial == 3; }));
  }
  EXPECT_EQ(given, (std::vector<std::uint32_t>{1, 2, 4, 1, 2, 4, 1, 2, 4}));
  // The last one that is free is found, wherever it is.
  EXPECT_EQ(serials.next([](std::uint32_t serial) { return serial != 4; }), 4u);
}

struct Letter : Mail {
  std::uint32_t writer = 0;
  std::uint32_t number = 0;
};

TEST(Mailbox, EveryItemArrivesOnceAndInOrder) {
  constexpr std::uint32_t kWriters = 3;
  constexpr std::uint32_t kLetters = 20'000;
  std::vector<Letter> letters(kWriters * kLetters);
  Mailbox<Letter> mailbox;
  std::vector<std::thread> writers;
  for (std::uint32_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (std::uint32_t i = 0; i < kLetters; ++i) {
        Letter& letter = letters[w * kLetters + i];
        letter.writer = w;
        letter.number = i;
        mailbox.push(&letter);
      }
    });
  }
  std::vector<std::uint32_t> next(kWriters, 0);
  for (std::uint32_t taken = 0; taken < kWriters * kLetters;) {
    const bool ready = mailbox.ready();
    const Letter* letter = mailbox.take();
    if (letter == nullptr) {
      ASSERT_FALSE(ready);
      continue;
    }
    ++taken;
    ASSERT_EQ(letter->number, next[letter->writer]++);
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_FALSE(mailbox.ready());
  EXPECT_EQ(mailbox.take(), nullptr);
}

// Against a plain list of bytes.
TEST(ReceivedPieces, TakeEveryByteOnceInAnyOrder) {
  constexpr std::uint64_t kTotal = 60;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ReceivedPieces pieces;
    pieces.clear();
    std::vector<bool> taken(kTotal);
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t offset = random() % (kTotal + 5);
      const std::uint64_t length = 1 + random() % 8;
      bool fits = offset + length <= kTotal;
      for (std::uint64_t i = offset; fits && i < offset + length; ++i) fits = !taken[i];
      std::vector<bool> after = taken;
      for (std::uint64_t i = offset; fits && i < offset + length; ++i) after[i] = true;
      std::size_t ranges = 0;
      for (std::uint64_t i = 0; i < kTotal; ++i) ranges += after[i] && (i == 0 || !after[i - 1]);
      fits = fits && ranges <= ReceivedPieces::kMostRanges;
      ASSERT_EQ(pieces.add(offset, length, kTotal), fits) << offset << " " << length;
      if (fits) taken = after;
    }
  }
}

TEST(ReceivedPieces, AreBounded) {
  ReceivedPieces pieces;
  for (std::uint64_t i = 0; i < ReceivedPieces::kMostRanges; ++i) {
    EXPECT_TRUE(pieces.add(3 * i, 1, 1000));
  }
  EXPECT_FALSE(pieces.add(900, 1, 1000));
  EXPECT_TRUE(pieces.add(1, 2, 1000)) << "it joins two";
  EXPECT_TRUE(pieces.add(900, 1, 1000));
  EXPECT_FALSE(pieces.add(~std::uint64_t{0}, ~std::uint64_t{0}, 1000));
  EXPECT_FALSE(pieces.add(999, ~std::uint64_t{0}, 1000));
}

// What comes out, in pieces of any size, is whole messages: heads, and chunks in their order.
TEST(Outbound, MessagesComeOutWholeHoweverLittleTheSocketTakes) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::byte> memory(4096);
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
    Outbound out;
    std::vector<std::byte> sent;
    std::uint64_t heads = 0;
    std::uint64_t chunks = 0;
    std::vector<std::unique_ptr<TcpChunk>> posted;
    std::size_t ended = 0;
    const auto send = [&] {
      Outbound::Parts parts;
      const std::size_t count = out.gather(&parts, 1 + random() % 600);
      ASSERT_GT(count, 0u);
      std::vector<std::byte> gathered;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_GT(parts[i].iov_len, 0u);
        const auto* first = static_cast<const std::byte*>(parts[i].iov_base);
        gathered.insert(gathered.end(), first, first + parts[i].iov_len);
      }
      const std::size_t taken = 1 + random() % gathered.size();
      sent.insert(sent.end(), gathered.begin(),
                  gathered.begin() + static_cast<std::ptrdiff_t>(taken));
      if (const TcpChunk* chunk = out.advance(taken)) {
        EXPECT_EQ(chunk, posted[ended++].get());
        EXPECT_TRUE(chunk->begun);
      }
    };
    for (int step = 0; step < 300; ++step) {
      if (random() % 3 == 0) out.push(new_head<PeerDone>(++heads));
      if (out.current() == nullptr && random() % 3 == 0) {
        auto chunk = std::make_unique<TcpChunk>();
        chunk->chunk.length = 1 + random() % 1000;
        chunk->chunk.local.mapped = memory.data() + random() % 3000;
        auto head = new_head<PeerWrite>(++chunks);
        head.length = chunk->chunk.length;
        head.offset = static_cast<std::uint64_t>(chunk->chunk.local.mapped - memory.data());
        out.begin(chunk.get(), head);
        posted.push_back(std::move(chunk));
      }
      if (!out.idle()) {
        ASSERT_NO_FATAL_FAILURE(send());
      }
    }
    while (!out.idle()) ASSERT_NO_FATAL_FAILURE(send());
    EXPECT_EQ(ended, posted.size());
    std::uint64_t heads_seen = 0;
    std::uint64_t chunks_seen = 0;
    for (std::size_t at = 0; at < sent.size();) {
      const auto header = copy_head<PeerHeader>(std::span(sent).subspan(at));
      if (header.type == PeerMessageType::done) {
        ASSERT_EQ(header.request, ++heads_seen);
        at += sizeof(PeerDone);
        continue;
      }
      ASSERT_EQ(header.type, PeerMessageType::write);
      const auto head = copy_head<PeerWrite>(std::span(sent).subspan(at));
      ASSERT_EQ(header.request, ++chunks_seen);
      at += sizeof head;
      ASSERT_EQ(memcmp(sent.data() + at, memory.data() + head.offset, head.length), 0);
      at += head.length;
    }
    EXPECT_EQ(heads_seen, heads);
    EXPECT_EQ(chunks_seen, chunks);
  }
}

TEST(Outbound, AChunkThatHasNotBegunCanBeTakenBack) {
  std::vector<std::byte> memory(100);
  TcpChunk chunk;
  chunk.chunk.length = 100;
  chunk.chunk.local.mapped = memory.data();
  Outbound out;
  out.push(new_head<PeerDone>(1));
  out.begin(&chunk, new_head<PeerWrite>(2));
  EXPECT_EQ(out.advance(sizeof(PeerDone)), nullptr);
  EXPECT_FALSE(chunk.begun);
  out.drop_current();
  EXPECT_TRUE(out.idle());
  out.begin(&chunk, new_head<PeerWrite>(2));
  EXPECT_EQ(out.advance(1), nullptr);
  EXPECT_TRUE(chunk.begun);
}

// A stream of messages, cut anywhere, lands where it belongs.
TEST(Inbound, MessagesLandWhereTheyBelongHoweverTheyArrive) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const TcpSide side = seed % 2 == 0 ? TcpSide::dialer : TcpSide::acceptor;
    std::vector<std::byte> stream;
    std::vector<std::size_t> lengths;
    const auto append = [&](const auto& head, std::size_t length) {
      const auto bytes = std::as_bytes(std::span(&head, 1));
      stream.insert(stream.end(), bytes.begin(), bytes.end());
      for (std::size_t i = 0; i < length; ++i) stream.push_back(static_cast<std::byte>(random()));
      lengths.push_back(length);
    };
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::size_t length = random() % 3 == 0 ? 0 : 1 + random() % 500;
      if (side == TcpSide::acceptor) {
        length == 0 ? append(new_head<PeerRead>(i), 0) : append(new_head<PeerWrite>(i), length);
      } else {
        length == 0 ? append(new_head<PeerDone>(i), 0) : append(new_head<PeerData>(i), length);
      }
    }
    Inbound in(side);
    std::vector<std::byte> waste(64);
    std::vector<std::byte> memory(500);
    std::vector<std::byte> got;
    std::size_t message = 0;
    for (std::size_t at = 0; at < stream.size();) {
      Inbound::Parts parts;
      const std::size_t count = in.want(&parts, waste, 1 + random() % 300);
      std::size_t wanted = 0;
      for (std::size_t i = 0; i < count; ++i) wanted += parts[i].iov_len;
      const std::size_t arrives = std::min(1 + random() % wanted, stream.size() - at);
      std::size_t left = arrives;
      for (std::size_t i = 0; i < count && left > 0; ++i) {
        const std::size_t here = std::min(left, parts[i].iov_len);
        std::memcpy(parts[i].iov_base, stream.data() + at, here);
        at += here;
        left -= here;
      }
      const auto piece = in.got(arrives);
      got.insert(got.end(), piece.begin(), piece.end());
      while (true) {
        if (in.payload_complete()) {
          in.end_payload();
          if (!in.wasted()) {
            const std::size_t end = at - (in.midway() ? in.head().size() : 0);
            ASSERT_EQ(memcmp(got.data(), stream.data() + end - got.size(), got.size()), 0);
            ASSERT_EQ(memcmp(memory.data(), got.data(), got.size()), 0);
          }
          got.clear();
        }
        ASSERT_FALSE(in.head_is_foreign());
        if (in.in_payload() || !in.head_complete()) break;
        ASSERT_EQ(copy_head<PeerHeader>(in.head()).request, message);
        in.end_head();
        const std::size_t length = lengths[message++];
        if (length != 0) in.start_payload(random() % 4 == 0 ? nullptr : memory.data(), length);
      }
    }
    EXPECT_EQ(message, lengths.size());
    EXPECT_FALSE(in.midway());
  }
}

TEST(StallWatch, NothingThatShouldMoveStandsStillForLong) {
  constexpr Duration kLimit{100};
  StallWatch watch;
  const auto at = [](std::int64_t ns) { return time_from_ns(ns); };
  EXPECT_FALSE(watch.stalled(false, at(0), kLimit));
  EXPECT_FALSE(watch.stalled(false, at(1000), kLimit)) << "nothing is due";
  EXPECT_FALSE(watch.stalled(true, at(2000), kLimit)) << "due since the last look at most";
  EXPECT_FALSE(watch.stalled(true, at(2099), kLimit));
  watch.moved();
  EXPECT_FALSE(watch.stalled(true, at(2150), kLimit));
  EXPECT_FALSE(watch.stalled(true, at(2249), kLimit));
  EXPECT_TRUE(watch.stalled(true, at(2250), kLimit));
  EXPECT_FALSE(watch.stalled(false, at(2260), kLimit));
  EXPECT_FALSE(watch.stalled(true, at(2500), kLimit));
}

TEST(AskedReadsTest, AreBoundedAndNeverNumberedAlike) {
  AskedReads reads(3, 500);
  std::vector<AskedRead*> open;
  for (std::uint64_t i = 0; i < 3; ++i) open.push_back(reads.open(70 + i, 10, Time{}));
  EXPECT_EQ(reads.open(99, 10, Time{}), nullptr);
  EXPECT_EQ(reads.find(501), open[1]);
  EXPECT_EQ(open[1]->number, 71u);
  reads.close(open[1]);
  EXPECT_EQ(reads.find(501), nullptr);
  const AskedRead* again = reads.open(99, 20, Time{});
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->read, 503u);
  EXPECT_EQ(again->unsent, 20u);
  reads.close_all();
  EXPECT_EQ(reads.size(), 0u);
  EXPECT_EQ(reads.find(500), nullptr);
  for (int i = 0; i < 3; ++i) EXPECT_NE(reads.open(1, 1, Time{}), nullptr);
}

TEST(ChunkBookTest, FindsWhatIsOpenAndGivesEveryUseANumber) {
  ChunkBook book(4);
  std::mt19937 random(3);
  std::vector<TcpChunk*> open;
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    if (open.size() == 4 || (!open.empty() && random() % 2 == 0)) {
      const std::size_t at = random() % open.size();
      const ChunkId id = open[at]->id;
      EXPECT_EQ(book.find(id), open[at]);
      book.close(open[at]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
      EXPECT_EQ(book.find(id), nullptr);
      continue;
    }
    Chunk chunk;
    chunk.id = {OwnerId{i % 5, i / 5}, i % 3, i};
    TcpChunk* entry = book.open(chunk, Time{});
    ASSERT_NE(entry, nullptr);
    EXPECT_GT(entry->number, last);
    last = entry->number;
    open.push_back(entry);
    if (open.size() == 4) {
      EXPECT_EQ(book.open(chunk, Time{}), nullptr);
    }
  }
}

TEST(ChunkRowTest, AnyCanBeTakenOut) {
  std::vector<std::unique_ptr<TcpChunk>> chunks;
  ChunkRow row;
  for (int i = 0; i < 5; ++i) {
    chunks.push_back(std::make_unique<TcpChunk>());
    row.push(chunks.back().get());
  }
  for (const std::size_t i : {2u, 0u, 4u}) row.remove(chunks[i].get());
  EXPECT_EQ(row.take(), chunks[1].get());
  row.push(chunks[0].get());
  EXPECT_EQ(row.take(), chunks[3].get());
  EXPECT_EQ(row.take(), chunks[0].get());
  EXPECT_EQ(row.take(), nullptr);
  EXPECT_TRUE(row.empty());
}

}  // namespace
}  // namespace tentq::test
