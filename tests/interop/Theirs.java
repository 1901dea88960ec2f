// A thread that locks by Redisson, with the words of tests/live/redisson.pl:
//
//     Theirs PORT KIND NAME LEASE_MS WAIT_MS ENTRIES                KIND: lock, fenced, spin, fair
//     Theirs PORT KIND NAME LEASE_MS WAIT_MS TIMES count FILE
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import sun.misc.Signal;

public class Theirs {
    static RLock lockOf(RedissonClient client, String kind, String name) {
        switch (kind) {
        case "fenced": return client.getFencedLock(name);
        case "spin":   return client.getSpinLock(name);
        case "fair":   return client.getFairLock(name);
        default:       return client.getLock(name);
        }
    }

    // Without a lease of its own a lock has the watchdog's, which renews it.
    static boolean take(RLock lock, long waitMs) throws InterruptedException {
        return waitMs == 0 ? lock.tryLock() : lock.tryLock(waitMs, TimeUnit.MILLISECONDS);
    }

    static void count(RLock lock, long waitMs, int times, Path file) throws Exception {
        for (int i = 0; i < times; i++) {
            if (!take(lock, waitMs)) throw new IllegalStateException("not had in time");
            long number = Long.parseLong(Files.readString(file).trim());
            Thread.sleep(2);
            Files.writeString(file, number + 1 + "\n");
            lock.unlock();
        }
    }

    static void leave(RLock lock) {
        try {
            lock.unlock();
            System.out.println(lock.isLocked() ? "entered still" : "left");
        } catch (IllegalMonitorStateException e) {
            System.out.println("gone");
        }
    }

    static void hold(RedissonClient client, RLock lock, long waitMs, int entries) throws InterruptedException {
        CountDownLatch leaving = new CountDownLatch(1);
        Signal.handle(new Signal("TERM"), signal -> leaving.countDown());
        if (!take(lock, waitMs)) {
            System.out.println("refused");
            return;
        }
        for (int i = 1; i < entries; i++) lock.lock();
        String token = lock instanceof RFencedLock ? " " + ((RFencedLock) lock).getToken() : "";
        System.out.println("held " + client.getId() + ":" + Thread.currentThread().getId() + token);
        leaving.await();
        for (int i = 0; i < entries; i++) leave(lock);
        System.out.println("released");
    }

    public static void main(String[] words) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(words[3]));
        config.setThreads(2).setNettyThreads(2);
        config.useSingleServer().setAddress("redis://127.0.0.1:" + words[0]).setConnectionMinimumIdleSize(1);
        RedissonClient client = Redisson.create(config);
        RLock lock = lockOf(client, words[1], words[2]);
        long waitMs = Long.parseLong(words[4]);
        int number = Integer.parseInt(words[5]);
        try {
            if (words.length > 6) count(lock, waitMs, number, Path.of(words[7]));
            else                  hold(client, lock, waitMs, number);
        } finally {
            client.shutdown();
        }
    }
}
