// Shuffle (Pyper, as Themis describes it in its sections 1 and 8.1): what NIFS is compared with.
//
// A thread takes one child after the other of the node that it visited last. In every round the threads
// of a block hand in a node each, as far as they have one, and as few warps as these fill visit them:
// a block of four warps with 33 nodes has one warp with a single lane at work. So it goes depth first,
// all warps of a block in step.
//
// With refill between blocks (shuffle+ibr) a round of less nodes than a warp has lanes sends them to
// a buffer in global memory instead, a queue for each level that all blocks share; a block that finds
// as many there as it has threads takes those. A block whose part of the source is done empties the
// buffers, without sending anything. It need not wait: whoever sends empties them later itself.
//
// A thread's range of children and their tuple are in entry `lane` of its warp's queue of the level,
// nodes that came from a buffer in the entries behind the lanes'. The words of a queue, which nobody
// uses otherwise, tell the other warps of the block what a warp has. Between a word's readers and
// its next writer there always is a barrier of the block.
#ifndef HDD_SHUFFLE_CUH
#define HDD_SHUFFLE_CUH

#include "hd/nifs.cuh"
#include "hd/ring.cuh"

// Nodes of a block, and of a buffer, that are worth a visit. (Proofs have warps of one lane.)
constexpr u32 HDD_GATHER_MIN = HDD_LANES > 1 ? HDD_LANES : 2;
constexpr u32 HDD_FETCH_MIN = HDD_BLOCK > 1 ? HDD_BLOCK : 2;

HDD_DEVICE bool hdd_is_shuffled(const hdd_run &run)
{
    return run.launch.balance == HDD_SHUFFLE || run.launch.balance == HDD_SHUFFLE_IBR;
}

// A level's queue of a warp of this block.
template <class Pipeline> HDD_DEVICE hdd_queue &hdd_queue_of(Pipeline &p, u32 warp, u32 level)
{
    return p.queues.of[((i32)warp - (i32)hdd_warp()) * (Pipeline::levels - 1) + (i32)level - 1];
}

// What the warps of a block say: nodes that they hand in, some warp says yes, the run stops.
struct hdd_told {
    u32 nodes;
    bool yes, stops;
};

// Pushes the children of this lane's node. Whole warp.
template <class Pipeline, int L, class Tuple>
HDD_DEVICE void hdd_push_own(Pipeline &p, hdd_level<L> level, hdd_range r, const Tuple &t)
{
    hdd_queue_memory<Tuple> &at = p.queue_memory(level);
    at.ranges[hdd_lane()] = r;
    if (r.n != 0)
        at.tuples[hdd_lane()] = t;
    hdd_warp_sync();
}

// The same in every warp of a block, but for `fetched`.
struct hdd_gathering {
    u32 level;    // where threads may have nodes left; none has any below
    u32 rounds;
    u32 emptied;  // levels from this one on have empty buffers; 0: the source is not done
    u32 fetched;  // nodes of this warp that came from a buffer
    bool fetches; // what is visited next came from there

    HDD_MEMBER hdd_gathering() : level(0), rounds(0), emptied(0), fetched(0), fetches(false)
    {
    }

    template <class Pipeline> HDD_MEMBER void begin(Pipeline &p)
    {
        for (u32 l = 1; l < Pipeline::levels; l++)
            p.queues.level(l).ranges()[hdd_lane()] = hdd_no_range();
        hdd_warp_sync();
    }

    // The level to visit next; -1: nothing left, or the run stops. The whole block.
    template <class Pipeline> HDD_MEMBER int choose(Pipeline &p)
    {
        const bool refills = p.run.launch.balance == HDD_SHUFFLE_IBR;
        fetches = false;
        for (;;) {
            const hdd_told told = level ? ask_nodes(p) : ask_source(p);
            if (told.stops)
                return -1;
            if (level == 0)
                return told.yes ? down(p, 0) : refills ? empty_buffers(p) : -1;
            if (told.nodes == 0) {
                level--;
                continue;
            }
            if (!refills || emptied || told.nodes >= HDD_GATHER_MIN || send_nodes(p))
                return down(p, level);
        }
    }

    // Nodes of the level for this warp. The whole block.
    template <class Pipeline> HDD_MEMBER u32 pop(Pipeline &p, u32 at, u32 &position, u32 &slot)
    {
        const u32 n = fetches ? pop_fetched(p, at, position, slot) : pop_gathered(p, at, position, slot);
        hdd_block_sync();
        hdd_range *const mine = p.queues.level(at).ranges() + hdd_lane();
        if (!fetches && p.queues.level(at).count >> hdd_lane() & 1) {
            mine->begin++;
            mine->n--;
        }
        hdd_warp_sync();
        return n;
    }

  private:
    // Children of what is visited now come next.
    template <class Pipeline> HDD_MEMBER int down(Pipeline &, u32 at)
    {
        level = at + 1 < Pipeline::levels ? at + 1 : at;
        return (int)at;
    }

    HDD_MEMBER bool looks(const hdd_run &run)
    {
        return rounds++ % HDD_LOOK_RARELY == 0 && run.aborted();
    }

    template <class Pipeline> HDD_MEMBER hdd_told ask_source(Pipeline &p)
    {
        hdd_told told = {0, false, false};
        if (hdd_lane() == 0)
            p.queues.level(1).reserved[1] = (u32)p.scan.has_more() | (u32)looks(p.run) << 1;
        hdd_block_sync();
        HDD_NO_UNROLL
        for (u32 w = 0; w < HDD_WARPS; w++) {
            const u32 word = hdd_queue_of(p, w, 1).reserved[1];
            told.yes |= word & 1;
            told.stops |= word >> 1;
        }
        return told;
    }

    template <class Pipeline> HDD_MEMBER hdd_told ask_nodes(Pipeline &p)
    {
        return ask(p, level, p.queues.level(level).ranges()[hdd_lane()].n != 0, false);
    }

    template <class Pipeline> HDD_MEMBER hdd_told ask(Pipeline &p, u32 at, bool has_node, bool yes)
    {
        hdd_told told = {0, false, false};
        const u32 who = hdd_ballot(has_node);
        if (hdd_lane() == 0) {
            hdd_queue &mine = p.queues.level(at);
            mine.count = who;
            mine.head = (u32)yes | (u32)looks(p.run) << 1;
        }
        hdd_block_sync();
        HDD_NO_UNROLL
        for (u32 w = 0; w < HDD_WARPS; w++) {
            const hdd_queue &q = hdd_queue_of(p, w, at);
            told.nodes += hdd_popc(q.count);
            told.yes |= q.head & 1;
            told.stops |= q.head >> 1;
        }
        return told;
    }

    // ---- within the block ------------------------------------------------------------------

    // Node number `thread` of those that the warps hand in.
    template <class Pipeline> HDD_MEMBER u32 pop_gathered(Pipeline &p, u32 at, u32 &position, u32 &slot)
    {
        const u32 rank = hdd_thread(), first = hdd_warp() * HDD_LANES;
        u32 before = 0;
        HDD_NO_UNROLL
        for (u32 w = 0; w < HDD_WARPS; w++) {
            hdd_queue &q = hdd_queue_of(p, w, at);
            const u32 who = q.count, n = hdd_popc(who);
            if (rank >= before && rank < before + n) {
                const u32 lane = hdd_nth_bit(who, rank - before);
                position = q.ranges()[lane].begin;
                slot = w * HDD_QUEUE + lane;
            }
            before += n;
        }
        return before <= first ? 0 : hdd_min(before - first, HDD_LANES);
    }

    // ---- between blocks --------------------------------------------------------------------

    template <class Pipeline> HDD_MEMBER hdd_ring buffer(const Pipeline &p, u32 at) const
    {
        return hdd_ring(p.run, Pipeline::slot_bytes, at - 1);
    }

    template <class Pipeline> HDD_MEMBER bool send(Pipeline &p, hdd_queue &q)
    {
        hdd_slot *const s = buffer(p, level).reserve();
        if (!s)
            return false;
        hdd_range &r = q.ranges()[hdd_lane()];
        s->level = level;
        s->range = hdd_range{r.begin, 1};
        copy_words(hdd_slot_words(s), q.tuples() + hdd_lane() * q.words * 4, q.words);
        hdd_ring::hand_over(s);
        r.begin++;
        r.n--;
        return true;
    }

    // A round of few nodes goes to the buffer. True: there is something to visit instead, nodes that found
    // no room, or as many as a block has threads. The whole block.
    template <class Pipeline> HDD_MEMBER bool send_nodes(Pipeline &p)
    {
        hdd_queue &q = p.queues.level(level);
        const bool has = q.ranges()[hdd_lane()].n != 0;
        const bool sent = has && send(p, q);
        const u32 n = hdd_popc(hdd_ballot(sent));
        if (hdd_lane() == 0 && n)
            hdd_atomic_add(&p.run.progress->donations, (u64)n);
        const bool many = hdd_thread() == 0 && buffer(p, level).filled() >= HDD_FETCH_MIN;
        hdd_block_sync(); // all have heard how many nodes there were
        const hdd_told told = ask(p, level, has && !sent, hdd_any(many));
        if (told.nodes || told.stops)
            return true;
        if (told.yes)
            fetch(p, level);
        else
            hdd_block_sync();
        return told.yes;
    }

    // A node for each lane, as far as there are any, to the entries behind the lanes'. Whole warp.
    template <class Pipeline> HDD_MEMBER void fetch(Pipeline &p, u32 at)
    {
        hdd_queue &q = p.queues.level(at);
        hdd_slot *const s = buffer(p, at).pop();
        const u32 who = hdd_ballot(s != nullptr);
        const u32 to = HDD_LANES + hdd_popc(who & hdd_lanes_below());
        if (s) {
            q.ranges()[to] = s->range;
            copy_words(q.tuples() + to * q.words * 4, hdd_slot_words(s), q.words);
            hdd_ring::hand_over(s);
        }
        fetched = hdd_popc(who);
        fetches = true;
        hdd_count_received(p.run, fetched);
        hdd_warp_sync();
    }

    template <class Pipeline> HDD_MEMBER u32 pop_fetched(Pipeline &p, u32 at, u32 &position, u32 &slot)
    {
        if (hdd_lane() < fetched) {
            position = p.queues.level(at).ranges()[HDD_LANES + hdd_lane()].begin;
            slot = hdd_warp() * HDD_QUEUE + HDD_LANES + hdd_lane();
        }
        return fetched;
    }

    // The source is done: what is in the buffers, the deepest level first; -1: nothing. The whole block.
    template <class Pipeline> HDD_MEMBER int empty_buffers(Pipeline &p)
    {
        if (!emptied)
            emptied = Pipeline::levels;
        for (; emptied > 1; emptied--) {
            fetch(p, emptied - 1);
            const hdd_told told = ask(p, emptied - 1, hdd_lane() < fetched, false);
            if (told.stops)
                return -1;
            if (told.nodes)
                return down(p, emptied - 1);
        }
        return -1;
    }

    HDD_MEMBER static void copy_words(u8 *to, const u8 *from, u32 words)
    {
        HDD_NO_UNROLL
        for (u32 w = 0; w < words; w++)
            hdd_copy_word(to + 4 * w, from + 4 * w);
    }
};

#endif
