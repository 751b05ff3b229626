import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.service.AbstractBaseDispatcher;
import org.apache.pulsar.broker.service.AbstractDispatcherSingleActiveConsumer;
import org.apache.pulsar.broker.service.BrokerServiceException;
import org.apache.pulsar.broker.service.Consumer;
import org.apache.pulsar.broker.service.persistent.PersistentDispatcherSingleActiveConsumer;
import org.apache.pulsar.common.api.proto.CommandSubscribe.SubType;

/** Who is active in a Failover subscription while consumers come and go, and who is told so. */
final class Dispatcher {
    private static final Class<?> CHOOSING = AbstractDispatcherSingleActiveConsumer.class;

    private final PersistentDispatcherSingleActiveConsumer dispatcher;
    private final CopyOnWriteArrayList<Consumer> list = new CopyOnWriteArrayList<>();
    private final Consumers consumers = new Consumers();
    private final Map<Integer, Consumer> connected = new HashMap<>();

    private Dispatcher(JsonNode in) {
        dispatcher = Json.bare(PersistentDispatcherSingleActiveConsumer.class);
        ServiceConfiguration settings = Json.settings(in);
        Json.set(dispatcher, AbstractBaseDispatcher.class, "serviceConfig", settings);
        ManagedCursor cursor = Stand.in(ManagedCursor.class, (method, given) -> switch (method) {
            case "rewind" -> null;
            case "isClosed" -> true;
            default -> throw new UnsupportedOperationException(method);
        });
        Map<String, Object> members = Map.of("topicName", in.get("topic").asText(), "consumers", list,
                "partitionIndex", in.get("partitionIndex").asInt(), "subscriptionType", SubType.Failover, "cursor", cursor);
        members.forEach((name, value) -> Json.set(dispatcher, CHOOSING, name, value));
    }

    static ObjectNode answer(String kind, JsonNode in) {
        return Json.steps(in, new Dispatcher(in)::taken);
    }

    private ObjectNode taken(JsonNode step) {
        int id = step.get("id").asInt();
        consumers.notified.clear();
        if (step.get("op").asText().equals("add")) {
            add(consumers.made(step), id);
        } else {
            remove(connected.remove(id));
        }
        var out = Json.MAPPER.createObjectNode();
        var order = out.putArray("order");
        list.forEach(consumer -> order.add(consumer.consumerId()));
        Consumer active = dispatcher.getActiveConsumer();
        if (active == null) {
            out.putNull("active");
        } else {
            out.put("active", active.consumerId());
        }
        var notified = out.putArray("notified");
        consumers.notified.forEach(each -> notified.addArray().add((Long) each[0]).add((Boolean) each[1]));
        return out;
    }

    /** As {@code addConsumer} does it, without limits and connections to check. */
    private void add(Consumer consumer, int id) {
        connected.put(id, consumer);
        list.add(consumer);
        boolean changed = Json.call(dispatcher, CHOOSING, "pickAndScheduleActiveConsumer", new Class<?>[] {});
        Consumer active = dispatcher.getActiveConsumer();
        if (!changed && active != consumer) {
            Json.call(consumer, Consumer.class, "notifyActiveConsumerChange", new Class<?>[] {Consumer.class}, active);
        }
    }

    private void remove(Consumer consumer) {
        try {
            dispatcher.removeConsumer(consumer);
        } catch (BrokerServiceException error) {
            throw new IllegalStateException(error);
        }
    }
}
