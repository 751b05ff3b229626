import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.HashingScheme;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.MessageRoutingMode;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.customroute.PartialRoundRobinMessageRouterImpl;

/**
 * Producers of the Java client, one client each, driven by lines on stdin; each is answered by one line.
 * open NAME TOPIC eager|lazy LIMIT [HASHING]: "ok MS" or "EXCEPTION MS"; send NAME COUNT: for each message "ok" or the
 * exception of the client; keys NAME KEY...: the partition that each was sent to; close NAME.
 */
public class Producing {
    public static void main(String[] args) throws Exception {
        Map<String, PulsarClient> clients = new HashMap<>();
        Map<String, Producer<byte[]>> producers = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "open" -> {
                    PulsarClient client = PulsarClient.builder().serviceUrl(args[0]).build();
                    long start = System.nanoTime();
                    String result = "ok";
                    try {
                        producers.put(words[1], opened(client, words));
                        clients.put(words[1], client);
                    } catch (PulsarClientException error) {
                        result = error.getClass().getSimpleName();
                        client.close();
                    }
                    answer(result + " " + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
                }
                case "send" -> {
                    List<String> results = new ArrayList<>();
                    for (int at = 0; at < Integer.parseInt(words[2]); at++) {
                        try {
                            producers.get(words[1]).send(new byte[10]);
                            results.add("ok");
                        } catch (PulsarClientException error) {
                            results.add(error.getClass().getSimpleName());
                        }
                    }
                    answer(String.join(" ", results));
                }
                case "keys" -> {
                    List<String> partitions = new ArrayList<>();
                    for (int at = 2; at < words.length; at++) {
                        var id = producers.get(words[1]).newMessage().key(words[at]).value(new byte[10]).send();
                        partitions.add(String.valueOf(((MessageIdAdv) id).getPartitionIndex()));
                    }
                    answer(String.join(" ", partitions));
                }
                case "close" -> {
                    producers.remove(words[1]).close();
                    clients.remove(words[1]).close();
                    answer("ok");
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        System.exit(0);
    }

    private static Producer<byte[]> opened(PulsarClient client, String[] words) throws PulsarClientException {
        ProducerBuilder<byte[]> builder = client.newProducer(Schema.BYTES).producerName(words[1]).topic(words[2])
                .enableBatching(false).enableLazyStartPartitionedProducers(words[3].equals("lazy"));
        int limit = Integer.parseInt(words[4]);
        if (words.length > 5) {
            builder.hashingScheme(HashingScheme.valueOf(words[5]));
        }
        if (limit > 0) {
            builder.messageRoutingMode(MessageRoutingMode.CustomPartition)
                    .messageRouter(new PartialRoundRobinMessageRouterImpl(limit));
        } else {
            builder.messageRoutingMode(MessageRoutingMode.RoundRobinPartition);
        }
        return builder.create();
    }

    private static void answer(String text) {
        System.out.println(text);
        System.out.flush();
    }
}
