import com.fasterxml.jackson.databind.JsonNode;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.service.Consumer;
import org.apache.pulsar.broker.service.PulsarCommandSender;
import org.apache.pulsar.broker.service.TransportCnx;
import org.apache.pulsar.common.api.proto.KeySharedMeta;
import org.apache.pulsar.common.api.proto.KeySharedMode;

/** Connected consumers of which only those members are set that decide who gets what. */
final class Consumers {
    private static final SocketAddress ADDRESS = InetSocketAddress.createUnresolved("client", 1);

    /** Ids of those that are told whether they are active, and whether they are, in the order of telling. */
    final List<Object[]> notified = new ArrayList<>();
    private final TransportCnx connection;

    Consumers() {
        PulsarCommandSender sender = Stand.in(PulsarCommandSender.class, (method, given) -> {
            if (method.equals("sendActiveConsumerChange")) {
                notified.add(given);
                return null;
            }
            throw new UnsupportedOperationException(method);
        });
        connection = Stand.in(TransportCnx.class, (method, given) -> switch (method) {
            case "clientAddress" -> ADDRESS;
            case "getCommandSender" -> sender;
            case "checkConnectionLiveness" -> CompletableFuture.completedFuture(alive());
            default -> throw new UnsupportedOperationException(method);
        });
    }

    /** That a connection is alive, as the release says it. */
    private static Object alive() throws NoSuchMethodException {
        var answer = TransportCnx.class.getMethod("checkConnectionLiveness").getGenericReturnType();
        return answer.getTypeName().contains("Optional") ? Optional.of(true) : (Object) true;
    }

    /** {@code ranges} are those that it declares; null where it says nothing of sharing keys. */
    Consumer made(JsonNode step) {
        Consumer made = Json.bare(Consumer.class);
        Json.set(made, "consumerId", step.get("id").asLong());
        Json.set(made, "consumerName", step.get("name").asText());
        Json.set(made, "priorityLevel", step.path("priority").asInt());
        Json.set(made, "cnx", connection);
        if (step.path("ranges").isArray()) {
            var meta = new KeySharedMeta().setKeySharedMode(KeySharedMode.STICKY);
            step.get("ranges").forEach(range ->
                    meta.addHashRange().setStart(range.get(0).asInt()).setEnd(range.get(1).asInt()));
            Json.set(made, "keySharedMeta", meta);
        }
        return made;
    }
}
