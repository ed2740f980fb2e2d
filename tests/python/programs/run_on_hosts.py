"""weir.run on hosts that exist only for a stand-in of ssh, which runs the commands here. By itself,
because a rank of Hydra's cannot start another Hydra over ssh."""

import weir
import weir.torch as hvd


def work():
    hvd.init()
    return hvd.rank(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.is_homogeneous()


if __name__ == "__main__":
    found = weir.run(work, np=3, hosts="node-a:2,node-b:1", network_interfaces="lo")
    assert found == [(0, 0, 2, 0, False), (1, 1, 2, 0, False), (2, 0, 1, 1, False)], found
