// Queues in global memory that many warps fill and empty: of pieces of work (fws.cuh), of single nodes
// (shuffle.cuh).
//
// A queue is a ring of slots after D. Vyukov's bounded queue of many producers and consumers: slot s
// serves tickets s, s + n, ...; its turn is 2 * round while it waits for the ticket's producer and
// one more while it waits for the consumer. All zeros: empty.
#ifndef HDD_RING_CUH
#define HDD_RING_CUH

#include "hd/range.cuh"
#include "hd/run.cuh"

// The tuple follows.
struct hdd_slot {
    u32 turn, level;
    hdd_range range;
};

template <class Tuple> HDD_DEVICE Tuple &hdd_slot_tuple(hdd_slot *s)
{
    return *reinterpret_cast<Tuple *>(s + 1);
}

HDD_DEVICE u8 *hdd_slot_words(hdd_slot *s)
{
    return reinterpret_cast<u8 *>(s + 1);
}

struct hdd_ring_ends {
    u64 tail, apart[15], head, apart_too[15];
};

// One thread at a time calls.
struct hdd_ring {
    hdd_ring_ends *ends;
    u64 slots;
    u32 slot_bytes, nslots;

    HDD_MEMBER hdd_ring(const hdd_run &run, u32 bytes_of_a_slot, u32 number)
        : slot_bytes(bytes_of_a_slot), nslots(run.launch.share.queue_slots)
    {
        const u64 bytes = sizeof(hdd_ring_ends) + (u64)nslots * slot_bytes;
        ends = reinterpret_cast<hdd_ring_ends *>(run.launch.share.queues + number * bytes);
        slots = reinterpret_cast<u64>(ends + 1);
    }

    // A slot to write to, then to be handed over; null: the queue is full.
    HDD_MEMBER hdd_slot *reserve() const
    {
        return ticket(&ends->tail, 0);
    }

    // A slot to read, then to be handed back; null: there is none.
    HDD_MEMBER hdd_slot *pop() const
    {
        return ticket(&ends->head, 1);
    }

    // Slots that have something, about: others come and go.
    HDD_MEMBER u64 filled() const
    {
        const u64 head = hdd_load_relaxed(&ends->head), tail = hdd_load_relaxed(&ends->tail);
        return tail > head ? tail - head : 0;
    }

    HDD_MEMBER static void hand_over(hdd_slot *s)
    {
        hdd_store_release(&s->turn, s->turn + 1);
    }

  private:
    HDD_MEMBER hdd_slot *ticket(u64 *end, u32 side) const
    {
        u64 t = hdd_load_relaxed(end);
        for (;;) {
            hdd_slot *const s =
                reinterpret_cast<hdd_slot *>(slots + (t & (nslots - 1)) * slot_bytes);
            const u32 turn = (u32)(t / nslots) * 2 + side;
            const i32 ahead = (i32)(hdd_load_acquire(&s->turn) - turn);
            if (ahead < 0)
                return nullptr;
            const u64 now =
                ahead == 0 ? hdd_atomic_cas(end, t, t + 1) : hdd_load_relaxed(end);
            if (ahead == 0 && now == t)
                return s;
            t = now;
        }
    }
};

#endif
