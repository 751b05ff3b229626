import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.extensions.BrokerRegistry;
import org.apache.pulsar.broker.loadbalance.extensions.LoadManagerContext;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.data.TopBundlesLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.store.LoadDataStore;

/** What the extensible manager's classes look at: settings, and stores that are maps. */
final class Context {
    private Context() {
    }

    static LoadManagerContext of(
            ServiceConfiguration settings, LoadDataStore<BrokerLoadData> loads,
            LoadDataStore<TopBundlesLoadData> tops, BrokerRegistry registry) {
        return new LoadManagerContext() {
            public ServiceConfiguration brokerConfiguration() {
                return settings;
            }

            public LoadDataStore<BrokerLoadData> brokerLoadDataStore() {
                return loads;
            }

            public LoadDataStore<TopBundlesLoadData> topBundleLoadDataStore() {
                return tops;
            }

            public BrokerRegistry brokerRegistry() {
                return registry;
            }
        };
    }

    @SuppressWarnings("unchecked")
    static <T> LoadDataStore<T> store(Map<String, T> map, Set<String> hidden) {
        return (LoadDataStore<T>) Stand.in(LoadDataStore.class, (method, given) -> switch (method) {
            case "get" -> hidden.contains((String) given[0])
                    ? Optional.empty() : Optional.ofNullable(map.get((String) given[0]));
            case "forEach" -> {
                map.forEach((BiConsumer<String, T>) given[0]);
                yield null;
            }
            case "entrySet" -> map.entrySet();
            case "size" -> map.size();
            default -> throw new UnsupportedOperationException(method);
        });
    }
}
