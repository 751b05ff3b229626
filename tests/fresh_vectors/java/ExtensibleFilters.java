import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLookupData;
import org.apache.pulsar.broker.loadbalance.extensions.filter.BrokerFilter;
import org.apache.pulsar.broker.loadbalance.extensions.filter.BrokerMaxTopicCountFilter;
import org.apache.pulsar.broker.loadbalance.extensions.filter.BrokerVersionFilter;

/** What the extensible manager filters candidates by. */
final class ExtensibleFilters {
    private ExtensibleFilters() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        Map<String, BrokerLoadData> loads = new ConcurrentHashMap<>();
        in.path("loads").forEach(entry -> loads.put(entry.get("broker").asText(), load(entry)));
        var settings = Json.settings(in);
        BrokerFilter filter = new BrokerVersionFilter();
        if (kind.equals("topic_count_extensible")) {
            settings.setLoadBalancerBrokerMaxTopics(in.get("maxTopics").asInt());
            filter = new BrokerMaxTopicCountFilter();
        }
        Map<String, String> versions = new HashMap<>();
        in.path("brokers").forEach(entry -> versions.put(entry.get("broker").asText(), entry.path("version").asText(null)));
        Map<String, BrokerLookupData> candidates = new HashMap<>();
        Json.texts(in.get("candidates")).forEach(name -> candidates.put(name, registered(versions.get(name))));
        String error = null;
        try {
            filter.filterAsync(candidates, null, Context.of(settings, Context.store(loads, Set.of()), null, null)).join();
        } catch (CompletionException refused) {
            error = refused.getCause().getClass().getSimpleName();
        } catch (NumberFormatException refused) {
            error = refused.getClass().getSimpleName();
        }
        return Filters.left(candidates.keySet(), error);
    }

    /** Read as from the store, since releases differ in what else there is. */
    private static BrokerLookupData registered(String version) {
        return Json.MAPPER.convertValue(Collections.singletonMap("brokerVersion", version), BrokerLookupData.class);
    }

    private static BrokerLoadData load(JsonNode entry) {
        var made = new BrokerLoadData();
        Class<?> type = Json.declared(BrokerLoadData.class, "topics").getType(); // some releases count in int
        Json.set(made, "topics", Json.MAPPER.convertValue(entry.path("topics").asLong(), type));
        return made;
    }
}
