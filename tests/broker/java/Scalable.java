import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.client.api.v5.CheckpointConsumer;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.MessageId;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;

/**
 * Producers and consumers of the v5 client, one client each, driven by lines on stdin; each is answered by one line.
 * produce NAME TOPIC; keys NAME KEY...: the segment that each went to, where a key is "=KEY" and "-" has none; load NAME
 * RATE KEY...: messages of these keys in turn from now on, none at rate 0; join NAME TOPIC SUBSCRIPTION
 * stream|checkpoint: "ok" or the exception; received NAME: KEY@SEGMENT@NUMBER of what came since the last time, where a
 * producer counts its messages from 0; hold NAME: no
 * acknowledgements from now on; ack NAME: all that came, and from now on; close NAME.
 */
public class Scalable {
    private static final Duration PATIENCE = Duration.ofMillis(100);

    public static void main(String[] args) throws Exception {
        Map<String, Sender> senders = new HashMap<>();
        Map<String, Reader> readers = new HashMap<>();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            String name = words[1];
            switch (words[0]) {
                case "produce" -> {
                    senders.put(name, new Sender(args[0], name, words[2]));
                    out.println("ok");
                }
                case "keys" -> out.println(String.join(" ", senders.get(name).send(from(words, 2))));
                case "load" -> {
                    senders.get(name).load(Integer.parseInt(words[2]), from(words, 3));
                    out.println("ok");
                }
                case "join" -> {
                    try {
                        readers.put(name, new Reader(args[0], name, words[2], words[3], words[4].equals("stream")));
                        out.println("ok");
                    } catch (PulsarClientException error) {
                        out.println(error.getClass().getSimpleName());
                    }
                }
                case "received" -> out.println("received " + String.join(" ", readers.get(name).taken()));
                case "hold", "ack" -> {
                    readers.get(name).acknowledge(words[0].equals("ack"));
                    out.println("ok");
                }
                case "close" -> {
                    readers.remove(name).close();
                    out.println("ok");
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        System.exit(0);
    }

    private static List<String> from(String[] words, int first) {
        return List.of(words).subList(first, words.length);
    }

    private static long segmentOf(MessageId id) {
        try {
            Method segment = id.getClass().getDeclaredMethod("segmentId");
            segment.setAccessible(true);
            return (long) segment.invoke(id);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static PulsarClient client(String url) throws PulsarClientException {
        return PulsarClient.builder().serviceUrl(url).build();
    }

    private static final class Sender {
        private final Producer<byte[]> producer;
        private final AtomicLong sent = new AtomicLong();
        private volatile int perSecond;
        private volatile List<String> keys = List.of();
        private Thread loading;

        Sender(String url, String name, String topic) throws PulsarClientException {
            producer = client(url).newProducer(Schema.bytes()).topic(topic).producerName(name)
                    .create();
        }

        List<String> send(List<String> these) throws PulsarClientException {
            List<String> segments = new ArrayList<>();
            for (String key : these) {
                var message = producer.newMessage().value(value());
                if (key.startsWith("=")) {
                    message.key(key.substring(1));
                }
                segments.add(String.valueOf(segmentOf(message.send())));
            }
            return segments;
        }

        private byte[] value() {
            return ByteBuffer.allocate(100).putLong(sent.getAndIncrement()).array();
        }

        void load(int rate, List<String> these) {
            keys = these;
            perSecond = rate;
            if (loading == null) {
                loading = new Thread(this::run);
                loading.setDaemon(true);
                loading.start();
            }
        }

        private void run() {
            long next = System.nanoTime();
            for (int at = 0;; at++) {
                int rate = perSecond;
                next = rate == 0 ? System.nanoTime() + 50_000_000 : next + 1_000_000_000 / rate;
                try {
                    if (rate > 0) {
                        String key = keys.get(at % keys.size());
                        producer.async().newMessage().value(value()).key(key.substring(1)).send();
                    }
                    Thread.sleep(Math.max(0, (next - System.nanoTime()) / 1_000_000));
                } catch (InterruptedException error) {
                    return;
                }
            }
        }
    }

    private static final class Reader {
        private final PulsarClient client;
        private final StreamConsumer<byte[]> stream;
        private final CheckpointConsumer<byte[]> checkpoint;
        private final ConcurrentLinkedQueue<String> received = new ConcurrentLinkedQueue<>();
        private boolean acknowledges = true;
        private MessageId last;
        private volatile boolean open = true;

        Reader(String url, String name, String topic, String subscription, boolean streams)
                throws PulsarClientException {
            client = client(url);
            try {
                stream = !streams ? null : client.newStreamConsumer(Schema.bytes()).topic(topic)
                        .subscriptionName(subscription).consumerName(name).acknowledgmentGroupTime(Duration.ZERO)
                        .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe();
                checkpoint = streams ? null : client.newCheckpointConsumer(Schema.bytes()).topic(topic)
                        .consumerGroup(subscription).consumerName(name).create();
            } catch (PulsarClientException error) {
                client.close();
                throw error;
            }
            Thread thread = new Thread(this::run);
            thread.setDaemon(true);
            thread.start();
        }

        List<String> taken() {
            List<String> these = new ArrayList<>();
            for (String one = received.poll(); one != null; one = received.poll()) {
                these.add(one);
            }
            return these;
        }

        synchronized void acknowledge(boolean from) {
            acknowledges = from;
            if (from && stream != null && last != null) {
                stream.acknowledgeCumulative(last);
            }
        }

        private synchronized void came(Message<byte[]> message) {
            last = message.id();
            received.add(message.key().map(key -> "=" + key).orElse("-") + "@" + segmentOf(last)
                    + "@" + ByteBuffer.wrap(message.value()).getLong());
            if (acknowledges && stream != null) {
                stream.acknowledgeCumulative(last);
            }
        }

        private void run() {
            while (open) {
                try {
                    Message<byte[]> message = stream != null ? stream.receive(PATIENCE) : checkpoint.receive(PATIENCE);
                    if (message != null) {
                        came(message);
                    }
                } catch (PulsarClientException error) {
                    if (open) {
                        received.add(error.getClass().getSimpleName() + "@-1@-1");
                    }
                    return;
                }
            }
        }

        void close() throws Exception {
            open = false;
            (stream != null ? stream : checkpoint).close();
            client.close();
        }
    }
}
